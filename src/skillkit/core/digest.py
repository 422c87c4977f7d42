"""The digest of a skill's whole tree, which trust is bound to and which detects any changed byte."""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from skillkit.core.exceptions import ContentLoadError, SizeLimitExceededError, SkillSecurityError
from skillkit.core.limits import SKILL_BYTES, SKILL_FILES, TREE_DEPTH, TREE_ENTRIES
from skillkit.core.text import escape_hidden

_CHUNK = 1024 * 1024
_NO_FOLLOW = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class FileDigest:
    """One file of a tree."""

    sha256: str
    size: int
    executable: bool


@dataclass(frozen=True, slots=True)
class TreeDigest:
    """A tree and every file in it, by relative POSIX path."""

    digest: str
    files: Mapping[str, FileDigest]

    @staticmethod
    def of(files: Mapping[str, FileDigest]) -> "TreeDigest":
        """Return the digest of files whose own digests are known; names are hashed as their bytes on disk."""
        whole = hashlib.sha256()
        for path in sorted(files):
            mark = "x" if files[path].executable else "-"
            entry = f"{path}\0{mark}\0{files[path].sha256}\n"
            whole.update(entry.encode("utf-8", "surrogateescape"))
        return TreeDigest(f"sha256:{whole.hexdigest()}", MappingProxyType(dict(files)))


def tree_digest(folder: Path, *, max_files: int = SKILL_FILES, max_bytes: int = SKILL_BYTES) -> TreeDigest:
    """The digest of everything beneath `folder`.

    Raises SkillSecurityError for a symbolic link or a special file, SizeLimitExceededError for too
    much, ContentLoadError for what cannot be read.
    """
    return TreeDigest.of(
        {
            path: file_digest(chunks, executable)
            for path, executable, chunks in read_tree(folder, max_files=max_files, max_bytes=max_bytes)
        }
    )


def file_digest(chunks: Iterable[bytes], executable: bool) -> FileDigest:
    """Return the digest of one file, read piece by piece."""
    content, size = hashlib.sha256(), 0
    for chunk in chunks:
        content.update(chunk)
        size += len(chunk)
    return FileDigest(content.hexdigest(), size, executable)


def read_tree(
    folder: Path, *, max_files: int, max_bytes: int, skipped: frozenset[str] = frozenset()
) -> Iterator[tuple[str, bool, Iterator[bytes]]]:
    """Every file beneath `folder`: its path, whether it is executable, and its bytes.

    The bytes of one are read before the next is asked for; those of all together are limited.
    """
    left = max_bytes

    def limited(chunks: Iterator[bytes]) -> Iterator[bytes]:
        nonlocal left
        for chunk in chunks:
            left -= len(chunk)
            if left < 0:
                raise SizeLimitExceededError(f"{folder} has more than {max_bytes:,} bytes")
            yield chunk

    for path, descriptor in open_tree(folder, max_files=max_files, skipped=skipped):
        executable = bool(os.fstat(descriptor).st_mode & 0o111)
        yield path, executable, limited(chunks_of(descriptor, path, folder))


def chunks_of(descriptor: int, path: str, folder: Path) -> Iterator[bytes]:
    """Yield the rest of an open file of a tree; raise ContentLoadError if it cannot be read."""
    try:
        while chunk := os.read(descriptor, _CHUNK):
            yield chunk
    except OSError as error:
        raise _unreadable(path, folder, error) from error


def open_tree(
    folder: Path, *, max_files: int = SKILL_FILES, skipped: frozenset[str] = frozenset()
) -> Iterator[tuple[str, int]]:
    """Yield every file beneath `folder` with a descriptor that is open until the next iteration.

    Each component is opened from the one before it: nothing can be swapped for a link on the way.
    """
    try:
        root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise ContentLoadError(f"Cannot read the folder {folder}: {error.strerror}") from error
    count = 0
    entries = _Entries(folder, max(TREE_ENTRIES, 2 * max_files))
    try:
        for path, descriptor in _walk(root, "", folder, skipped, entries):
            count += 1
            if count > max_files:
                raise SizeLimitExceededError(f"{folder} has more than {max_files:,} files")
            yield path, descriptor
    finally:
        os.close(root)


class _Entries:
    """The names in folders, up to a limit."""

    def __init__(self, folder: Path, limit: int) -> None:
        self._folder = folder
        self._limit = self._left = limit

    def of(self, descriptor: int, depth: int) -> list[str]:
        if depth > TREE_DEPTH:
            raise SizeLimitExceededError(f"{self._folder} has folders more than {TREE_DEPTH} deep")
        names: list[str] = []
        try:
            with os.scandir(descriptor) as entries:
                for entry in entries:
                    if self._left <= 0:
                        raise SizeLimitExceededError(
                            f"{self._folder} has more than {self._limit:,} files and folders"
                        )
                    self._left -= 1
                    names.append(entry.name)
        except OSError as error:
            raise ContentLoadError(f"Cannot list a folder in {self._folder}: {error.strerror}") from error
        return sorted(names)


def _walk(
    here: int, prefix: str, folder: Path, skipped: frozenset[str], entries: _Entries
) -> Iterator[tuple[str, int]]:
    for name in entries.of(here, prefix.count("/")):
        path = prefix + name
        if path in skipped:
            continue
        try:
            descriptor = os.open(name, _NO_FOLLOW, dir_fd=here)
        except OSError as error:
            raise _refused(here, name, path, folder, error) from error
        try:
            mode = os.fstat(descriptor).st_mode
            if stat.S_ISDIR(mode):
                yield from _walk(descriptor, f"{path}/", folder, skipped, entries)
            elif stat.S_ISREG(mode):
                yield path, descriptor
            else:
                raise SkillSecurityError(_not_plain(path, folder))
        finally:
            os.close(descriptor)


def _refused(here: int, name: str, path: str, folder: Path, error: OSError) -> Exception:
    try:
        mode = os.stat(name, dir_fd=here, follow_symlinks=False).st_mode
    except OSError:
        mode = stat.S_IFREG
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return _unreadable(path, folder, error)
    return SkillSecurityError(_not_plain(path, folder))


def _unreadable(path: str, folder: Path, error: OSError) -> ContentLoadError:
    return ContentLoadError(f"Cannot read '{escape_hidden(path)}' in {folder}: {error.strerror}")


def _not_plain(path: str, folder: Path) -> str:
    return (
        f"'{escape_hidden(path)}' in {folder} is a symbolic link or a special file; "
        "a skill may hold plain files and folders only"
    )
