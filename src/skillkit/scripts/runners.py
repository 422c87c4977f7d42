"""Who executes the scripts of this program: this machine, or what SKILLKIT_RUNNER names."""

import os
from collections.abc import Mapping
from threading import Lock
from typing import cast

from skillkit.core.exceptions import ConfigurationError
from skillkit.core.extensions import Extensions
from skillkit.scripts.models import ScriptRunner
from skillkit.scripts.runner import LocalRunner

SETTING = "SKILLKIT_RUNNER"
RUNNERS = Extensions(
    group="skillkit.runners",
    kind="runner",
    shipped={
        "http": "skillkit.fleet.remote:RemoteRunner",
        "https": "skillkit.fleet.remote:RemoteRunner",
    },
)
"""By the scheme of an address: `https://HOST:PORT` is a fleet's gateway."""
_made: dict[str, ScriptRunner] = {}
_lock = Lock()


def can_show_folders(runner: ScriptRunner | None = None) -> bool:
    """Whether scripts can be shown a folder of this machine without the keys in it."""
    used = default_runner() if runner is None else runner
    return isinstance(used, LocalRunner) and used.can_show_folders()


def default_runner(environ: Mapping[str, str] | None = None) -> ScriptRunner:
    """Return the runner that SKILLKIT_RUNNER names, one a process; without it a new one of this machine."""
    setting = (os.environ if environ is None else environ).get(SETTING, "").strip()
    if setting in ("", "local"):
        return LocalRunner()
    scheme, separator, _ = setting.partition("://")
    if not separator:
        raise ConfigurationError(
            f"{SETTING}={setting} is neither 'local' nor an address such as https://HOST:PORT", SETTING
        )
    with _lock:
        if setting not in _made:
            _made[setting] = cast("ScriptRunner", RUNNERS.load(scheme)(setting))
        return _made[setting]
