"""Installation errors, each with a remedy."""

import errno
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


class InstallError(SkillsUseError, code="install"):
    """A skill could not be installed, updated, removed or checked."""

    def __init__(
        self, message: str, *, remedy: Remedy | None = None, skill: str = "", code: str | None = None
    ) -> None:
        super().__init__(message)
        self.error_code = code or self.error_code
        self.remedy = remedy
        self.skill = skill
        """The name of the installed skill that the remedy is for."""


class SourceError(InstallError, code="source"):
    """The text names no source of skills, one that is refused, or several skills without a choice."""


class GitError(InstallError, code="git"):
    """A git command failed."""


class AccessError(GitError, code="authentication"):
    """The repository or registry is missing, or access was denied."""


class RefNotFoundError(GitError, code="ref-not-found"):
    """The repository has no such branch, tag or commit."""


class NetworkError(GitError, code="network"):
    """The remote cannot be reached; trying again later may help."""


class NotThereError(NetworkError, code="not-there"):
    """The server returned 404 or 410."""


class UnsafeTreeError(InstallError, SkillSecurityError, code="unsafe-tree"):
    """The skill holds something that could do harm when it is written to disk."""


class NameConflictError(InstallError, code="name-conflict"):
    """Another source already owns the name."""


class NotInstalledError(InstallError, SkillNotFoundError, code="not-installed"):
    """No installed skill has that name."""


class ConsentError(InstallError, code="consent"):
    """Consent was declined or could not be asked for; nothing was changed."""


class DriftError(InstallError, code="drift"):
    """Installed files differ from the approved or locked ones."""


class LocalEditsError(DriftError, code="local-edits"):
    """Files of an installed skill were edited and are not overwritten by default."""


class LockFileError(InstallError, code="lock-file"):
    """The lock is invalid."""


class RegistryError(InstallError, StateFileError, code="registry"):
    """registry.json cannot be used and must not be overwritten."""


DISK_FULL = "disk-space"


class DiskError(InstallError, code="disk"):
    """The disk is full, or cannot be read or written."""


@contextmanager
def reporting_disk_errors() -> Iterator[None]:
    """Turn every OSError of the block, or of the decorated function, into a DiskError."""
    try:
        yield
    except OSError as error:
        where = f" {escape_hidden(os.fspath(error.filename))}" if isinstance(error.filename, str) else ""
        code = DISK_FULL if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else None
        raise DiskError(f"Cannot read or write{where}: {error.strerror or error}.", code=code) from error
