"""What a user can do about a failure whose cause is the sandbox and not the script."""

from skillkit.scripts.models import ScriptResult

_LANDLOCK = {
    b"SemLock": "multiprocessing needs shared memory, which the sandbox 'landlock' cannot give; "
    "install bubblewrap, or use threads",
}


def hint_for(result: ScriptResult) -> str:
    """Return a line to add to the message of a failure, or nothing."""
    if result.backend != "landlock":
        return ""
    said = result.stderr.ending(4096)
    return next((f"\n{hint}" for mark, hint in _LANDLOCK.items() if mark in said), "")
