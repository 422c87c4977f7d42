"""Installation errors, each with a remedy."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum

from skillkit.core.exceptions import SkillNotFoundError, SkillSecurityError, SkillsUseError, StateFileError
from skillkit.core.text import escape_hidden


class Remedy(Enum):
    """A remedy for an error; each program words it with its own commands."""

    ALLOW_MORE = "raise the limits of files and bytes"
    ANOTHER_NAME = "install it under another name"
    CHOOSE = "select skills by name, or all"
    CONSENT = "approve in advance"
    CONSENT_COMMIT = "approve a full commit in advance"
    CONSENT_DIGEST = "approve a digest in advance"
    CONSENT_TRUSTED = "trust the source in advance"
    CONSENT_LOCK = "approve the lock in advance"
    GIVE_PATH = "give the path inside the source"
    OVERWRITE_EDITS = "update and overwrite the edits, which are kept for rollback"
    MAYBE_SKILL = "the ref may have been meant as the name of a skill"
    UPDATE = "update the installed one"
    UPDATE_AGAIN = "Update it"
    VALIDATE = "Validate it"
    WRITE_LOCK = "write a lock"


Advise = Callable[[Remedy, str], str]
"""Words a remedy for the skill of that name; a program passes one that says how it is done there."""


def plain_advice(remedy: Remedy, skill: str) -> str:
    """Return the remedy in words that fit every program."""
    return remedy.value


class InstallError(SkillsUseError):
    """A skill could not be installed, updated, removed or checked."""

    def __init__(self, message: str, *, remedy: Remedy | None = None, skill: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy
        self.skill = skill
        """The name of the installed skill that the remedy is for."""


class SourceError(InstallError):
    """The text names no source of skills, one that is refused, or several skills without a choice."""


class GitError(InstallError):
    """A git command failed."""


class AccessError(GitError):
    """The repository or registry is missing, or access was denied."""


class RefNotFoundError(GitError):
    """The repository has no such branch, tag or commit."""


class NetworkError(GitError):
    """The remote cannot be reached; trying again later may help."""


class NotThereError(NetworkError):
    """The server returned 404 or 410."""


class UnsafeTreeError(InstallError, SkillSecurityError):
    """The skill holds something that could do harm when it is written to disk."""


class NameConflictError(InstallError):
    """Another source already owns the name."""


class NotInstalledError(InstallError, SkillNotFoundError):
    """No installed skill has that name."""


class ConsentError(InstallError):
    """Consent was declined or could not be asked for; nothing was changed."""


class DriftError(InstallError):
    """Installed files differ from the approved or locked ones."""


class LocalEditsError(DriftError):
    """Files of an installed skill were edited and are not overwritten by default."""


class LockFileError(InstallError):
    """The lock is invalid."""


class RegistryError(InstallError, StateFileError):
    """registry.json cannot be used and must not be overwritten."""


class DiskError(InstallError):
    """The disk is full, or cannot be read or written."""


@contextmanager
def reporting_disk_errors() -> Iterator[None]:
    """Turn every OSError of the block, or of the decorated function, into a DiskError."""
    try:
        yield
    except OSError as error:
        where = f" {escape_hidden(os.fspath(error.filename))}" if isinstance(error.filename, str) else ""
        raise DiskError(f"Cannot read or write{where}: {error.strerror or error}.") from error
