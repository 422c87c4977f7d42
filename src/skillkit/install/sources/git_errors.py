"""Map git's messages under LC_ALL=C to errors: its exit code is always 128."""

from skillkit.core.text import escape_hidden
from skillkit.install.exceptions import (
    DISK_FULL,
    AccessError,
    DiskError,
    GitError,
    NetworkError,
    RefNotFoundError,
)

_AUTHENTICATION = (
    "Authentication failed for",
    "could not read Username",
    "could not read Password",
    "Permission denied",
    "Host key verification failed",
    "requested URL returned error: 401",
    "requested URL returned error: 403",
)
_NETWORK = (
    "Could not resolve host",
    "Failed to connect to",
    "Couldn't connect to server",
    "Connection refused",
    "timed out",
    "hung up unexpectedly",
    "early EOF",
    "RPC failed",
    "Empty reply from server",
    "requested URL returned error: 5",
)
_NOT_FOUND = (
    "does not appear to be a git repository",
    "does not exist",
    "not found",
    "No such file or directory",
)


def git_error(shown: str, complaint: str) -> GitError | DiskError:
    """Return the error for git's output about the repository `shown`."""
    lines = [line.strip() for line in complaint.splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith(("fatal:", "error:", "remote:"))]
    last = escape_hidden((telling or lines or ["no reason given"])[-1][:300])
    if "not our ref" in complaint:
        return RefNotFoundError(f"{shown} does not have that commit: {last}")
    if "corruption on the remote side" in complaint:
        remote = next((line for line in lines if line.startswith("remote:")), last)
        return GitError(f"{shown} is damaged on the server: {escape_hidden(remote[:300])}")
    if "No space left" in complaint:
        return DiskError(f"The disk is full: {last}", code=DISK_FULL)
    if any(sign in complaint for sign in _AUTHENTICATION):
        return AccessError(
            f"Repository requires authentication: {shown}. Check the address; if it is "
            f"private, `git ls-remote {shown}` must work with your credentials. {last}"
        )
    if any(sign in complaint for sign in _NETWORK):
        return NetworkError(f"{shown} cannot be reached: {last}")
    if "remote ref" not in complaint and any(sign in complaint for sign in _NOT_FOUND):
        return AccessError(f"Repository not found: {shown}. {last}", code="repository-not-found")
    return GitError(f"git failed for {shown}: {last}")
