"""Choice of the script runner: this machine, or the one SKILLKIT_RUNNER names."""

import asyncio
import os
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from threading import Lock, Thread
from typing import cast

from skillkit.core.exceptions import ConfigurationError
from skillkit.core.extensions import Extensions
from skillkit.scripts.models import ScriptRequest, ScriptResult, ScriptRunner

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


class ThreadedRunner:
    """`run` and `arun` of a ScriptRunner that runs requests in threads of its own."""

    def run(self, request: ScriptRequest) -> ScriptResult:
        """Run one request to its end. Interrupting the caller kills the script."""
        cancel, future = self._submit(request)
        try:
            return future.result()
        except BaseException:
            cancel()
            raise

    async def arun(self, request: ScriptRequest) -> ScriptResult:
        """`run` without blocking; cancelling the awaiting task kills the script before it returns."""
        cancel, future = self._submit(request)
        waiting = asyncio.wrap_future(future)
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            if not future.cancel():
                Thread(target=cancel).start()  # it may block, and the threads of the event loop may be busy
                await asyncio.wait([waiting])
            raise

    def _submit(self, request: ScriptRequest) -> tuple[Callable[[], None], "Future[ScriptResult]"]:
        """Start a run; return what cancels it, and its result."""
        raise NotImplementedError


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
