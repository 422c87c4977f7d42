"""SKILL.md as a file: its beginning, or all of it at one instant."""

import errno
import logging
import os
import stat
from pathlib import Path

from skillkit.core.cache import Stamp
from skillkit.core.exceptions import ContentLoadError, SizeLimitExceededError
from skillkit.core.header import FIRST_READ, HEAD_BYTES, split
from skillkit.core.path_resolver import open_beneath, open_file

logger = logging.getLogger(__name__)

MAX_SKILL_BYTES = 8 * 1024 * 1024
_ATTEMPTS = 4
_MARGIN = 64


def stamp_of(status: os.stat_result) -> Stamp:
    return Stamp(status.st_mtime_ns, status.st_size, status.st_ino, status.st_ctime_ns)


def is_steady(before: os.stat_result, after: os.stat_result) -> bool:
    """Whether a read between the two stats is consistent: no write; at most another file took its name."""
    one, other = stamp_of(before), stamp_of(after)
    return one == other or (one[:3] == other[:3] and after.st_nlink < before.st_nlink)


def read_whole(path: Path) -> tuple[bytes, Stamp]:
    """Return all of a SKILL.md and its stamp, both of the same instant."""
    try:
        for _ in range(_ATTEMPTS):
            descriptor = open_skill_file(path)
            try:
                before = os.fstat(descriptor)
                _check_kind(before, path)
                if before.st_nlink > 1:
                    logger.warning("%s is a hard link: it can be changed from elsewhere", path)
                data = read_up_to(descriptor, before.st_size + 1)
                after = os.fstat(descriptor)
            finally:
                os.close(descriptor)
            if is_steady(before, after) and len(data) == before.st_size:
                return data, stamp_of(before)
    except FileNotFoundError as error:
        raise ContentLoadError(
            f"Skill file not found: {path}. File may have been deleted after discovery."
        ) from error
    except PermissionError as error:
        raise ContentLoadError(f"Permission denied reading skill: {path}") from error
    except OSError as error:
        raise ContentLoadError(f"Cannot read skill file {path}: {error.strerror}") from error
    raise ContentLoadError(f"Skill file keeps changing while it is read: {path}. Try again.")


def read_head(path: str) -> tuple[bytes, Stamp]:
    """Return the beginning of a SKILL.md, with the whole header if it is within the limit."""
    descriptor = open_skill_file(path)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        head = read_up_to(descriptor, min(status.st_size, FIRST_READ))
        if len(head) == FIRST_READ and _may_go_on(head):
            head += read_up_to(descriptor, min(status.st_size, HEAD_BYTES) - FIRST_READ)
        return head, stamp_of(status)
    finally:
        os.close(descriptor)


def _may_go_on(head: bytes) -> bool:
    """Whether `head` stops before the header does."""
    if head.startswith(b"---\n") and head.find(b"\n---\n", 3, len(head) - _MARGIN) > 0:
        return False
    parts = split(head)
    return parts.found and not (parts.terminated and parts.body_start < len(head) - _MARGIN)


def open_skill_file(path: Path | str) -> int:
    """Open a SKILL.md; a symbolic link is followed only within the skill's folder."""
    try:
        return open_file(os.fspath(path))
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
    path = Path(path)
    with open_beneath(path.parent, path.name) as descriptor:
        return os.dup(descriptor)


def _check_kind(status: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise ContentLoadError(f"Not a regular file: {path}")
    if status.st_size > MAX_SKILL_BYTES:
        raise SizeLimitExceededError(
            f"Skill file is too large: {path} has {status.st_size:,} bytes; "
            f"the limit is {MAX_SKILL_BYTES:,}. Move the bulk into files beside it."
        )


def read_up_to(descriptor: int, count: int) -> bytes:
    """Return the next `count` bytes of an open file; fewer at its end."""
    data = os.read(descriptor, count)
    while len(data) < count and (more := os.read(descriptor, count - len(data))):
        data += more
    return data
