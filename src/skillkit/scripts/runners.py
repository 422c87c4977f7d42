"""Choice of the script runner: this machine, or the one SKILLKIT_RUNNER names."""

import os
from collections.abc import Mapping
from threading import Lock
from typing import cast

from skillkit.core.exceptions import ConfigurationError
from skillkit.core.extensions import Extensions
from skillkit.scripts.models import ScriptRunner

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
    from skillkit.scripts.runner import LocalRunner

    used = default_runner() if runner is None else runner
    return isinstance(used, LocalRunner) and used.can_show_folders()


def runs_here(environ: Mapping[str, str] | None = None) -> bool:
    """Return whether scripts run on this machine, not where SKILLKIT_RUNNER says."""
    return _setting(environ) in ("", "local")


def _setting(environ: Mapping[str, str] | None) -> str:
    return (os.environ if environ is None else environ).get(SETTING, "").strip()


def default_runner(environ: Mapping[str, str] | None = None) -> ScriptRunner:
    """Return the runner that SKILLKIT_RUNNER names, one a process; without it a new one of this machine."""
    setting = _setting(environ)
    if runs_here(environ):
        from skillkit.scripts.runner import LocalRunner

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
