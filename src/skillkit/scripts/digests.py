"""The digest of a skill at the moment of a run, without reading again what has not changed."""

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from skillkit.core.digest import FileDigest, TreeDigest, open_tree, tree_digest
from skillkit.core.exceptions import ContentLoadError, SizeLimitExceededError

MAX_FILES = 4096
MAX_BYTES = 256 << 20
MAX_DEPTH = 50
_Stamp = tuple[str, int, int, int, int, int]


class DigestMemo:
    """Digests of folders, kept as long as the stat of every file in them stays the same."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[tuple[_Stamp, ...], str]] = {}

    def digest(self, folder: Path) -> str:
        """The tree's digest; SkillsUseError says why it has none.

        A tree with symbolic links has a digest of another kind: each link counts as its text, is
        never followed, and the whole can not be taken for a tree that was approved.
        """
        stamps = tuple(_stamps(folder))
        known = self._known.get(folder)
        if known is not None and known[0] == stamps:
            return known[1]
        links = [stamp[0] for stamp in stamps if stat.S_ISLNK(stamp[1])]
        if links:
            digest = _digest_with_links(folder, links)
        else:
            digest = tree_digest(folder, max_files=MAX_FILES, max_bytes=MAX_BYTES).digest
        self._known[folder] = (stamps, digest)
        return digest


def _digest_with_links(folder: Path, links: list[str]) -> str:
    files: dict[str, FileDigest] = {}
    for path, descriptor in open_tree(folder, max_files=MAX_FILES, skipped=frozenset(links)):
        with os.fdopen(os.dup(descriptor), "rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        files[path] = FileDigest(content, os.fstat(descriptor).st_size, False)
    for path in links:
        target = os.fsencode(os.readlink(folder / path))
        files[path] = FileDigest(hashlib.sha256(b"link " + target).hexdigest(), 0, False)
    return f"with-links:{TreeDigest.of(files).digest}"


def _stamps(folder: Path) -> Iterator[_Stamp]:
    count = size = 0
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        try:
            with os.scandir(os.path.join(folder, prefix)) as entries:
                found = sorted((entry.name, entry.stat(follow_symlinks=False)) for entry in entries)
        except OSError as error:
            raise ContentLoadError(f"Cannot read the folder {folder}/{prefix}: {error.strerror}") from error
        for name, status in found:
            if stat.S_ISDIR(status.st_mode):
                if prefix.count("/") >= MAX_DEPTH:
                    raise SizeLimitExceededError(f"{folder} has folders more than {MAX_DEPTH} deep")
                waiting.append(f"{prefix}{name}/")
                continue
            count += 1
            size += status.st_size
            if count > MAX_FILES or size > MAX_BYTES:
                raise SizeLimitExceededError(
                    f"{folder} is too large to run: more than {MAX_FILES:,} files or {MAX_BYTES:,} bytes"
                )
            yield (
                prefix + name,
                status.st_mode,
                status.st_size,
                status.st_mtime_ns,
                status.st_ctime_ns,
                status.st_ino,
            )
