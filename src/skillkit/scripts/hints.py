"""What a user can do about a failure whose cause is the sandbox and not the script."""

from skillkit.scripts.models import ScriptResult
from skillkit.scripts.network.attempts import Attempt

_SHOWN = 5

_LANDLOCK = {
    b"SemLock": "multiprocessing needs shared memory, which the sandbox 'landlock' cannot give; "
    "install bubblewrap, or use threads",
}


def hint_for(result: ScriptResult) -> str:
    """Return a line to add to the message of a failure, or nothing."""
    if refused := [attempt for attempt in result.network if not attempt.allowed]:
        shown = ", ".join(dict.fromkeys(_attempted(attempt) for attempt in refused[:_SHOWN]))
        return (
            f"\nThe script tried to reach {shown}. What it may reach is what the skill asks for in "
            "permissions.hosts and you grant"
        )
    if result.backend != "landlock":
        return ""
    said = result.stderr.ending(4096)
    return next((f"\n{hint}" for mark, hint in _LANDLOCK.items() if mark in said), "")


def _attempted(attempt: Attempt) -> str:
    port = "" if attempt.port is None else f" ({attempt.port})"
    return f"{attempt.host}{port}: {attempt.reason}"
