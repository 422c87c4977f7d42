"""What went wrong, read from what git says of it."""

from skillkit.core.text import escape_hidden
from skillkit.install.exceptions import (
    AuthenticationError,
    DiskSpaceError,
    GitError,
    NetworkError,
    RefNotFoundError,
    RepositoryNotFoundError,
)

_NETWORK = (
    *("could not resolve host", "failed to connect", "couldn't connect", "connection refused"),
    *(
        "timed out",
        "connection reset",
        "early eof",
        "unexpected disconnect",
        "network is unreachable",
    ),
    *("the remote end hung up", "operation too slow", "empty reply", "error: 5", "rpc failed"),
    *("gnutls", "ssl_", "temporary failure", "no route to host", "connection closed"),
)
_AUTHENTICATION = (
    *("authentication failed", "could not read username", "could not read password"),
    *("permission denied", "error: 401", "error: 403", "host key verification failed"),
    *("terminal prompts disabled", "invalid credentials"),
)
_NOT_FOUND = (
    *("repository not found", "' not found", "does not exist", "error: 404", "not found"),
    *("does not appear to be a git repository", "no such file or directory"),
)


def git_error(shown: str, complaint: str) -> GitError | DiskSpaceError:
    """Return the error that git's complaint about the repository `shown` stands for."""
    said = complaint.lower()
    last = escape_hidden(_telling_line(complaint))
    if "not our ref" in said:
        return RefNotFoundError(f"{shown} does not have that commit: {last}")
    if "corruption on the remote side" in said:
        return GitError(f"{shown} is damaged where it is kept: {escape_hidden(_said_by_remote(complaint))}")
    if "no space left" in said:
        return DiskSpaceError(f"The disk is full: {last}")
    if any(sign in said for sign in _AUTHENTICATION):
        return AuthenticationError(
            f"Repository requires authentication: {shown}. Check the address; if it is "
            f"private, `git ls-remote {shown}` must work with your credentials. {last}"
        )
    if any(sign in said for sign in _NETWORK):
        return NetworkError(f"{shown} cannot be reached: {last}")
    if "remote ref" not in said and any(sign in said for sign in _NOT_FOUND):
        return RepositoryNotFoundError(f"Repository not found: {shown}. {last}")
    return GitError(f"git failed for {shown}: {last}")


def _said_by_remote(complaint: str) -> str:
    lines = [line.strip() for line in complaint.splitlines()]
    return next((line for line in lines if line.startswith("remote:")), _telling_line(complaint))[:300]


def _telling_line(complaint: str) -> str:
    lines = [line.strip() for line in complaint.splitlines() if line.strip()]
    fatal = [line for line in lines if line.startswith(("fatal:", "error:", "remote:"))]
    return (fatal or lines or ["no reason given"])[-1][:300]
