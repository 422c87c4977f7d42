"""Tier 3: the files beside a SKILL.md, listed by name and read a page at a time."""

import hashlib
import logging
import mimetypes
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from skillkit.core.content import is_steady
from skillkit.core.exceptions import ChangedContentError, ContentLoadError
from skillkit.core.file_sharing import is_shared, mounts_beneath
from skillkit.core.path_resolver import is_readable_name, open_beneath, open_folder
from skillkit.core.text import shown
from skillkit.core.walk import SKIPPED

logger = logging.getLogger(__name__)

MAX_DEPTH = 5
MAX_RESOURCES = 10_000
MAX_ENTRIES = 100_000
DEFAULT_PAGE = 16 * 1024
MAX_PAGE = 1024 * 1024
_SNIFFED = 8192
_ATTEMPTS = 4


@dataclass(frozen=True, slots=True)
class Resource:
    """A file of a skill."""

    path: str
    """Relative to the skill's folder, with `/`."""
    size: int


@dataclass(frozen=True, slots=True)
class ResourcePage:
    """A part of a file. A binary file is described, without its content."""

    path: str
    text: str | None
    """None for a binary file."""
    offset: int
    """Where the page starts, in bytes."""
    next_offset: int | None
    """Where the next page starts; None after the last one."""
    size: int
    """Of the whole file, in bytes."""
    media_type: str


def list_resources(base: Path, skill_file: str) -> list[Resource]:
    """Return every file beneath `base` that `read_resource` reads, sorted; symbolic links are left out."""
    found: list[Resource] = []
    with open_folder(base) as root:
        if root is None:
            raise ContentLoadError(f"The skill's folder is gone: {base}")
        _Listing(base, skill_file, found).add(root, "", 0)
    return sorted(found, key=lambda resource: resource.path)


class _Listing:
    """A walk by descriptors, so that a folder swapped for a link is not followed."""

    def __init__(self, base: Path, skill_file: str, found: list[Resource]) -> None:
        self._base = base
        self._skill_file = skill_file
        self._found = found
        self._entries_left = MAX_ENTRIES
        self._mounts = mounts_beneath(base)

    def add(self, folder: int, prefix: str, depth: int) -> None:
        below = []
        with os.scandir(folder) as entries:
            for entry in entries:
                if self._is_full(prefix):
                    return
                self._entries_left -= 1
                relative = f"{prefix}{entry.name}"
                if not is_readable_name(entry.name):
                    continue
                if self._mounts and os.fsencode(relative) in self._mounts:
                    logger.warning("%s is on another mount and is not listed", self._base / relative)
                    continue
                if entry.is_dir(follow_symlinks=False):
                    below.append(entry.name)
                elif entry.is_file(follow_symlinks=False) and relative != self._skill_file:
                    with suppress(OSError):  # it vanished meanwhile, or is unreadable
                        self._found.append(Resource(relative, entry.stat(follow_symlinks=False).st_size))
        if depth >= MAX_DEPTH:
            return
        for name in sorted(set(below) - SKIPPED):
            try:
                with open_folder(name, beneath=folder) as descriptor:
                    if descriptor is not None:
                        self.add(descriptor, f"{prefix}{name}/", depth + 1)
            except OSError as error:
                logger.warning("Cannot list %s: %s", self._base / prefix / name, error.strerror)

    def _is_full(self, prefix: str) -> bool:
        if len(self._found) < MAX_RESOURCES and self._entries_left > 0:
            return False
        logger.warning(
            "%s has too many files: the list ends in '%s' after %d of them",
            self._base,
            prefix,
            len(self._found),
        )
        return True


def read_resource(
    base: Path, path: str, offset: int = 0, limit: int = DEFAULT_PAGE, sha256: str | None = None
) -> ResourcePage:
    """Return at most `limit` bytes of a text file from `offset` on, cut between characters.

    With `sha256`, of that very file or ChangedContentError.
    """
    if offset < 0 or not 0 < limit <= MAX_PAGE:
        raise ContentLoadError(
            f"Cannot read '{shown(path)}': offset must be 0 or more and limit "
            f"between 1 and {MAX_PAGE:,}, got offset={offset}, limit={limit}"
        )
    for _ in range(_ATTEMPTS):
        with open_beneath(base, path) as descriptor:
            _check_depth(path)
            status = os.fstat(descriptor)
            beginning, raw = _parts(descriptor, path, (0, _SNIFFED), (offset, limit + 4), sha256)
            steady = is_steady(status, os.fstat(descriptor))
        if steady:
            break
    else:
        raise ContentLoadError(f"'{shown(path)}' keeps changing while it is read. Try again.")
    if is_shared(base, path, status):
        logger.warning("'%s' in %s is a hard link, or lies on another mount", shown(path), base)
    size, media_type = status.st_size, mimetypes.guess_type(path)[0]
    if not _is_text(beginning):
        return ResourcePage(path, None, 0, None, size, media_type or "application/octet-stream")
    page, end = _whole_characters(raw, limit)
    following = offset + end
    return ResourcePage(
        path=path,
        text=page.decode("utf-8", "replace"),
        offset=offset,
        next_offset=following if following < size and end else None,
        size=size,
        media_type=media_type or "text/plain",
    )


def _parts(
    descriptor: int, path: str, first: tuple[int, int], second: tuple[int, int], sha256: str | None
) -> tuple[bytes, bytes]:
    """Read two parts of a file, each from an offset on; with `sha256`, of that very file."""
    try:
        if sha256 is None:
            return os.pread(descriptor, first[1], first[0]), os.pread(descriptor, second[1], second[0])
        beginning, raw, found = _parts_and_digest(descriptor, first, second)
    except OSError as error:
        raise ContentLoadError(f"Cannot read '{shown(path)}': {error.strerror}") from error
    if found != sha256:
        raise ChangedContentError(f"'{shown(path)}' has changed since it was checked. Try again.")
    return beginning, raw


def _parts_and_digest(descriptor: int, *wanted: tuple[int, int]) -> tuple[bytes, bytes, str]:
    """Return two parts of a file and the digest of all of it, in one read."""
    digest = hashlib.sha256()
    parts = [b"" for _ in wanted]
    position = 0
    while chunk := os.pread(descriptor, MAX_PAGE, position):
        digest.update(chunk)
        for number, (start, length) in enumerate(wanted):
            parts[number] += chunk[max(0, start - position) : max(0, start + length - position)]
        position += len(chunk)
    return parts[0], parts[1], digest.hexdigest()


def _check_depth(path: str) -> None:
    folders = len([part for part in path.split("/") if part not in ("", ".")]) - 1
    if folders > MAX_DEPTH:
        raise ContentLoadError(
            f"'{shown(path)}' is {folders} folders deep; a skill's files may be {MAX_DEPTH} deep"
        )


def _is_text(beginning: bytes) -> bool:
    if b"\0" in beginning:
        return False
    try:
        beginning.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.end == len(beginning) == _SNIFFED and error.reason == "unexpected end of data"
    return True


def _whole_characters(raw: bytes, limit: int) -> tuple[bytes, int]:
    """Return the page in `raw` without partial characters at either end, and its end."""
    start = 0
    while start < min(3, len(raw)) and raw[start] & 0xC0 == 0x80:
        start += 1
    end = min(limit, len(raw))
    while start < end < len(raw) and raw[end] & 0xC0 == 0x80:
        end += 1
    return raw[start:end], end
