"""What can go wrong on the way from a repository into the store."""

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum

from skillkit.core.exceptions import SkillNotFoundError, SkillSecurityError, SkillsUseError, StateFileError
from skillkit.core.text import escape_hidden


class Remedy(Enum):
    """What the user can do about an error; the program that asked says how it is done there."""

    ALLOW_MORE = "raise the limits of files and bytes"
    ANOTHER_NAME = "install it under another name"
    CHOOSE = "say which skills, or all"
    CONSENT = "say yes beforehand"
    CONSENT_COMMIT = "say yes beforehand to a full commit"
    CONSENT_DIGEST = "say yes beforehand to a digest"
    CONSENT_TRUSTED = "say beforehand that what is there is trusted"
    CONSENT_LOCK = "say yes beforehand to the lock"
    GIVE_PATH = "say where in the source to look"
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
    """The text does not name a source of skills, or names one that is refused."""


class GitError(InstallError):
    """git did not do what was asked."""


class RepositoryNotFoundError(GitError):
    """There is no such repository, or none that these credentials may see."""


class RefNotFoundError(GitError):
    """The repository has no such branch, tag or commit."""


class AuthenticationError(GitError):
    """The repository wants credentials that the user's git does not have."""


class NetworkError(GitError):
    """The remote cannot be reached; trying again later may help."""


class NotThereError(NetworkError):
    """The address answers that there is nothing."""


class UnsafeTreeError(InstallError, SkillSecurityError):
    """The skill holds something that could do harm when it is written to disk."""


class ManyFoundError(InstallError):
    """The source holds several skills and nobody said which; `names` are the choices."""

    def __init__(self, message: str, names: Sequence[str]) -> None:
        super().__init__(message, remedy=Remedy.CHOOSE)
        self.names = tuple(names)


class NameConflictError(InstallError):
    """Another source already owns the name."""


class NotInstalledError(InstallError, SkillNotFoundError):
    """No installed skill has that name."""


class ConsentError(InstallError):
    """Nobody said yes, so nothing was done."""


class DriftError(InstallError):
    """What is installed is not what was approved or locked."""


class LocalEditsError(DriftError):
    """Files of an installed skill were edited; they are not thrown away without being told to."""


class LockFileError(InstallError):
    """The lock cannot be used as it is."""


class RegistryError(InstallError, StateFileError):
    """registry.json cannot be used and must not be overwritten."""


class DiskError(InstallError):
    """The disk cannot be read or written."""


class DiskSpaceError(DiskError):
    """The disk is too full."""


@contextmanager
def reporting_disk_errors() -> Iterator[None]:
    """Turn every OSError of the block, or of the decorated function, into a DiskError."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        where = f" {escape_hidden(os.fspath(error.filename))}" if isinstance(error.filename, str) else ""
        kind = DiskSpaceError if full else DiskError
        raise kind(f"Cannot read or write{where}: {error.strerror or error}.") from error
