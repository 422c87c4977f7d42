"""Reading beneath a skill's root without races: no path leaves it, however it is spelled or swapped.

Every component is opened from the one before it with O_NOFOLLOW, so what was checked is what is opened.
A symbolic link that stays inside the root is followed by hand, one component at a time.
"""

import errno
import logging
import os
import re
import stat
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from skillkit.core.disk import real_path
from skillkit.core.exceptions import ContentLoadError, PathSecurityError
from skillkit.core.limits import PATH_CHARACTERS
from skillkit.core.names import DEVICE
from skillkit.core.text import HIDDEN_OR_LAYOUT, shown

logger = logging.getLogger(__name__)

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_OPEN_FILE = os.O_RDONLY | _NO_FOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_OPEN_FOLDER = os.O_RDONLY | _NO_FOLLOW | getattr(os, "O_DIRECTORY", 0)
_OPEN_ROOT = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_MAX_LINKS = 16
_DRIVE = re.compile(r"[A-Za-z]:")
_SHORT_NAME = re.compile(r"(?=[^.]{3,8}(\.|$))[^.~]+~[0-9]+(\.[^.]{0,3})?")
"""`PROGRA~1`: on some systems another name of a file with a longer one."""


class FilePathResolver:
    """Paths of files that belong to a skill."""

    @staticmethod
    def resolve_path(base_directory: Path, relative_path: str) -> Path:
        """Return the absolute path of `relative_path` beneath `base_directory`; the file need not exist.

        Raises PathSecurityError for anything that would end outside. To read the file, prefer
        `SkillManager.read_resource`: a path can be swapped between its check and its use.
        """
        base = real_path(Path(base_directory))
        parts = safe_parts(relative_path, base, allow_parent=True)
        with open_folder(base) as root:
            if root is not None:
                parts = _walk(root, parts, relative_path, base).walked
        logger.debug("Path resolved: %s beneath %s", relative_path, base)
        return base.joinpath(*parts)


def safe_parts(relative_path: str, base: Path, *, allow_parent: bool = False) -> list[str]:
    """Return the components of a path that is certainly relative and beneath `base`."""
    if not isinstance(relative_path, str):
        raise _violation(str(relative_path), base, "is not text")
    if len(relative_path) > PATH_CHARACTERS:
        asked = shown(relative_path[:100])
        raise ContentLoadError(f"The path '{asked}…' is longer than {PATH_CHARACTERS:,} characters ({base})")
    if HIDDEN_OR_LAYOUT.search(relative_path):
        raise _violation(relative_path, base, "contains control or invisible characters")
    plain = unicodedata.normalize("NFKC", relative_path)
    if plain != relative_path and (
        plain.count("/") != relative_path.count("/")
        or plain.count("\\") != relative_path.count("\\")
        or plain.count("..") != relative_path.count("..")
    ):
        raise _violation(relative_path, base, "contains characters that look like '/' or '..'")
    if _DRIVE.match(relative_path):
        reason = "is not relative to the skill's folder. Drive letters not allowed"
        raise _violation(relative_path, base, reason)
    if relative_path.startswith(("/", "\\", "~")):
        raise _violation(relative_path, base, "is not relative to the skill's folder")
    if "\\" in relative_path:
        raise _violation(relative_path, base, "contains a backslash; write '/'")
    parts: list[str] = []
    for part in relative_path.split("/"):
        if part in ("", "."):
            continue
        if part == "..":
            if not (allow_parent and parts):
                raise _violation(relative_path, base, "resolves outside the skill's folder")
            parts.pop()
            continue
        if (other := unportable(part)) is not None:
            raise _violation(relative_path, base, other)
        parts.append(part)
    return parts


@contextmanager
def open_beneath(base: Path, relative_path: str) -> Iterator[int]:
    """Open the regular file `relative_path` beneath `base` for the block."""
    parts = safe_parts(relative_path, base)
    with open_folder(base) as root:
        if root is None:
            raise ContentLoadError(f"The skill's folder is gone: {base}")
        found = _walk(root, parts, relative_path, base, open_last=True)
    if found.descriptor is None:
        raise ContentLoadError(f"File not found in the skill: '{shown(relative_path)}' beneath {base}")
    try:
        if not stat.S_ISREG(os.fstat(found.descriptor).st_mode):
            raise ContentLoadError(f"Not a regular file: '{shown(relative_path)}' beneath {base}")
        yield found.descriptor
    finally:
        os.close(found.descriptor)


def open_file(path: str) -> int:
    """Open `path`, which must not be a symbolic link; a FIFO or device never blocks."""
    return os.open(path, _OPEN_FILE)


def open_file_at(name: str, folder: int) -> int:
    """Like `open_file`, for one name in an open folder."""
    return os.open(name, _OPEN_FILE, dir_fd=folder)


class _Walk(NamedTuple):
    """Progress of a walk: the real components, and the descriptor of the last one if requested."""

    walked: list[str]
    descriptor: int | None = None


@contextmanager
def open_folder(path: Path | str, *, beneath: int | None = None) -> Iterator[int | None]:
    """Open a folder; None if there is none. One that lies `beneath` another must not be a link."""
    flags = _OPEN_ROOT if beneath is None else _OPEN_FOLDER
    try:
        descriptor = os.open(path, flags, dir_fd=beneath)
    except OSError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def is_readable_name(name: str) -> bool:
    """Whether a file of that name can be requested."""
    return not (HIDDEN_OR_LAYOUT.search(name) or "\\" in name or unportable(name) or name.startswith("~"))


def unportable(part: str) -> str | None:
    """Return why a component of a path means something else on some systems."""
    if DEVICE.match(part):
        return "names a device"
    if ":" in part:
        return "contains ':', which names a drive or a stream on some systems"
    if part[-1] in ". ":
        return "ends with a dot or a space, which some systems leave out"
    if _SHORT_NAME.fullmatch(part):
        return "is a short name, which means another file on some systems"
    return None


def _walk(root: int, parts: list[str], asked: str, base: Path, *, open_last: bool = False) -> _Walk:
    for _ in range(_MAX_LINKS):
        link = _descend(root, parts, asked, base, open_last=open_last)
        if isinstance(link, _Walk):
            return link
        parts = link
    raise _violation(asked, base, "follows too many symbolic links")


def _descend(root: int, parts: list[str], asked: str, base: Path, *, open_last: bool) -> "_Walk | list[str]":
    """Open one component after the other; a link on the way gives the path to start again with."""
    here = os.dup(root)
    try:
        for position, part in enumerate(parts):
            last = position == len(parts) - 1
            try:
                kind = os.lstat(part, dir_fd=here).st_mode
                if stat.S_ISLNK(kind):
                    return _followed(os.readlink(part, dir_fd=here), parts, position, asked, base)
                if last and not open_last:
                    return _Walk(parts)
                if last and not stat.S_ISREG(kind):
                    # Merely opening a device can have effects.
                    raise ContentLoadError(f"Not a regular file: '{shown(asked)}' beneath {base}")
                below = os.open(part, _OPEN_FILE if last else _OPEN_FOLDER, dir_fd=here)
            except OSError as error:
                if error.errno in (errno.ELOOP, errno.EINVAL):
                    return parts  # it became a link, or ceased to be one, between two calls: look again
                if error.errno in (errno.ENOENT, errno.ENOTDIR) or not open_last:
                    return _Walk(parts)
                raise ContentLoadError(
                    f"Cannot open '{shown(asked)}' beneath {base}: {error.strerror}"
                ) from error
            if last:
                return _Walk(parts, below)
            os.close(here)
            here = below
        return _Walk(parts)
    finally:
        os.close(here)


def _followed(target: str, parts: list[str], position: int, asked: str, base: Path) -> list[str]:
    # Everything walked so far is real, so '..' in the link can be taken off it textually.
    resolved = parts[:position]
    if target.startswith("/"):
        roots = (os.fspath(base), os.fspath(real_path(base)))
        root = next((root for root in roots if f"{target}/".startswith(f"{root}/")), None)
        if root is None:
            raise _violation(asked, base, "is a symbolic link that leaves the skill's folder")
        resolved, target = [], target[len(root) :]
    for part in target.split("/"):
        if part in ("", "."):
            continue
        if part == "..":
            if not resolved:
                raise _violation(asked, base, "is a symbolic link that leaves the skill's folder")
            resolved.pop()
        else:
            resolved.append(part)
    return resolved + parts[position + 1 :]


def _violation(requested: str, base: Path, reason: str) -> PathSecurityError:
    asked = shown(requested)
    logger.error(
        "SECURITY VIOLATION: Path traversal attempt detected: '%s' beneath %s %s",
        asked,
        base,
        reason,
        extra={
            "requested_path": asked,
            "base_directory": str(base),
            "resolved_path": shown(os.path.normpath(base / requested)),
            "violation_type": "path_traversal",
        },
    )
    return PathSecurityError(
        f"Path traversal attempt detected: '{asked}' {reason} ({base})",
        requested_path=requested,
        base_directory=str(base),
    )
