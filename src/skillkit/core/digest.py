"""What a skill's folder is, in 32 bytes: every path, executable bit and content counts."""

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from skillkit.core.exceptions import (
    ContentLoadError,
    PathSecurityError,
    SizeLimitExceededError,
)
from skillkit.core.text import escape_hidden

_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_OPEN_FILE = _FLAGS | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_OPEN_FOLDER = _FLAGS | getattr(os, "O_DIRECTORY", 0)
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class TreeLimits:
    """How large a skill may be before it is refused."""

    files: int = 4096
    size: int = 256 << 20
    depth: int = 16


DEFAULT_LIMITS = TreeLimits()


@dataclass(frozen=True, slots=True)
class TreeFile:
    """One file of a tree."""

    path: str
    """Relative to the root, with forward slashes."""
    mode: str
    """As git writes it: 100644, 100755 for an executable, 120000 for a symbolic link."""
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class TreeDigest:
    """The identity of a folder and of every file in it."""

    digest: str
    """`sha256:` and 64 hexadecimal digits."""
    files: tuple[TreeFile, ...]

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)


Stamp = tuple[str, int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class _Entry:
    """A file as the walk met it; `folder` is open only until the walk goes on."""

    path: str
    name: str
    folder: int
    stamp: Stamp


def tree_digest(root: Path, limits: TreeLimits = DEFAULT_LIMITS, *, record_links: bool = False) -> TreeDigest:
    """The digest of everything beneath `root`.

    A symbolic link, a device, a FIFO or a socket anywhere raises PathSecurityError, too much of
    anything SizeLimitExceededError. Each component is opened from its parent without following
    links, so a swap during the walk cannot lead out of the tree. With `record_links` a link counts
    as its text and is still never followed.
    """
    files = []
    remaining = limits.size
    for entry in _walk(root, limits, record_links):
        file = _read(entry, root, remaining)
        remaining -= file.size
        files.append(file)
    return combined(files)


def combined(files: list[TreeFile]) -> TreeDigest:
    """The digest of a tree whose files are already hashed, such as one read out of git."""
    ordered = sorted(files, key=lambda file: os.fsencode(file.path))
    whole = hashlib.sha256()
    for file in ordered:
        header = f"{file.mode} ".encode() + os.fsencode(file.path) + b"\0"
        whole.update(header + bytes.fromhex(file.sha256))
    return TreeDigest(f"sha256:{whole.hexdigest()}", tuple(ordered))


class DigestMemo:
    """Digests of folders that have not changed since they were read, by the stat of every file."""

    def __init__(self, limits: TreeLimits = DEFAULT_LIMITS, *, record_links: bool = False) -> None:
        self._limits = limits
        self._record_links = record_links
        self._known: dict[Path, tuple[tuple[Stamp, ...], TreeDigest]] = {}

    def digest(self, root: Path) -> TreeDigest:
        stamps = tuple(sorted(entry.stamp for entry in self._entries(root)))
        known = self._known.get(root)
        if known is not None and known[0] == stamps:
            return known[1]
        found = tree_digest(root, self._limits, record_links=self._record_links)
        self._known[root] = (stamps, found)
        return found

    def _entries(self, root: Path) -> Iterator[_Entry]:
        return _walk(root, self._limits, self._record_links)


def _walk(root: Path, limits: TreeLimits, links: bool) -> Iterator[_Entry]:
    try:
        # The root itself may be a link that the user placed; nothing beneath it may.
        top = os.open(root, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | os.O_CLOEXEC)
    except OSError as error:
        raise ContentLoadError(f"Cannot read the skill's folder {root}: {error.strerror}") from error
    count = 0
    try:
        for entry in _beneath(top, "", root, limits.depth, links):
            count += 1
            if count > limits.files:
                raise SizeLimitExceededError(
                    f"{root} holds more than {limits.files} files; a skill this large is refused"
                )
            yield entry
    finally:
        os.close(top)


def _beneath(folder: int, prefix: str, root: Path, depth: int, links: bool) -> Iterator[_Entry]:
    if depth < 0:
        raise SizeLimitExceededError(f"Folders are nested too deeply in {root}: '{prefix}'")
    with os.scandir(folder) as listing:
        names = sorted(entry.name for entry in listing)
    for name in names:
        path = prefix + name
        try:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISDIR(found.st_mode):
                below = os.open(name, _OPEN_FOLDER, dir_fd=folder)
                try:
                    yield from _beneath(below, path + "/", root, depth - 1, links)
                finally:
                    os.close(below)
                continue
        except OSError as error:
            raise ContentLoadError(
                f"Cannot read '{escape_hidden(path)}' beneath {root}: {error.strerror}"
            ) from error
        if not (stat.S_ISREG(found.st_mode) or (links and stat.S_ISLNK(found.st_mode))):
            raise _unwanted(path, root, found.st_mode)
        yield _Entry(path, name, folder, _stamp(path, found))


def _stamp(path: str, found: os.stat_result) -> Stamp:
    return (
        path,
        found.st_mode,
        found.st_size,
        found.st_mtime_ns,
        found.st_ctime_ns,
        found.st_ino,
    )


def _read(entry: _Entry, root: Path, remaining: int) -> TreeFile:
    try:
        if stat.S_ISLNK(entry.stamp[1]):
            target = os.fsencode(os.readlink(entry.name, dir_fd=entry.folder))
            return TreeFile(entry.path, "120000", 0, hashlib.sha256(target).hexdigest())
        descriptor = os.open(entry.name, _OPEN_FILE, dir_fd=entry.folder)
    except OSError as error:
        raise ContentLoadError(
            f"Cannot read '{escape_hidden(entry.path)}' beneath {root}: {error.strerror}"
        ) from error
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise _unwanted(entry.path, root, found.st_mode)
        content = hashlib.sha256()
        size = 0
        while chunk := file.read(_CHUNK):
            size += len(chunk)
            if size > remaining:
                raise SizeLimitExceededError(
                    f"{root} is too large to be a skill: refused at '{escape_hidden(entry.path)}'"
                )
            content.update(chunk)
    mode = "100755" if found.st_mode & 0o111 else "100644"
    return TreeFile(entry.path, mode, size, content.hexdigest())


def _unwanted(path: str, root: Path, mode: int) -> PathSecurityError:
    kind = "a symbolic link" if stat.S_ISLNK(mode) else "not a regular file"
    return PathSecurityError(
        f"'{escape_hidden(path)}' beneath {root} is {kind}; a skill may hold only plain files",
        requested_path=path,
        base_directory=str(root),
    )
