"""Private copies of skills, named by digest, so that exactly the approved bytes run."""

import os
import re
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from skillkit.core.digest import read_tree
from skillkit.core.digest_memo import DigestMemo, tree_digests
from skillkit.core.disk import remove_tree, unreachable
from skillkit.core.exceptions import SizeLimitExceededError, SkillsUseError
from skillkit.core.folder_cache import ChangedFolderError, FolderCache
from skillkit.core.limits import TREE_BYTES, TREE_ENTRIES, TREE_FILES

KEPT_TREES = 64
KEPT_BYTES = 1 << 30
_DIGEST = re.compile(r"(?:with-links:)?sha256:[0-9a-f]{64}")


class ChangedTreeError(ChangedFolderError, code="changed-tree"):
    """The folder differs from the tree that was approved for this run."""

    @classmethod
    def of(cls, folder: Path) -> "ChangedTreeError":
        return cls(
            f"The files in {folder} changed after this run was approved; nothing was run. "
            "Ask again to approve the files as they are now"
        )


class TreeStore:
    """Copies beneath one folder, each made once and shared by threads and processes.

    A folder that others may write to can change at any moment between judging and running, and
    while the script runs; a copy that only we know, judged after it was made, cannot.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._cache = FolderCache(folder)

    @contextmanager
    def pinned(self, source: Path, digest: str, *, reachable: bool = False) -> Iterator[Path]:
        """Lease a copy of `source` with `digest`; ChangedTreeError if `source` has another one.

        `reachable` wants a copy that any user can read by its path.
        """
        if not _DIGEST.fullmatch(digest):
            raise ChangedTreeError(f"The run names no digest of {source}, so its files cannot be verified")
        if not self._is_usable(reachable):
            with tempfile.TemporaryDirectory(prefix="skillkit-run-") as scratch:
                copy = Path(scratch) / source.name
                self._copy(source, copy, digest)
                os.chmod(scratch, 0o755)
                try:
                    yield copy
                finally:
                    remove_tree(copy)
            return
        if not self.has(digest):
            self._cache.collect(most=KEPT_TREES, most_bytes=KEPT_BYTES)

        def is_valid(entry: Path) -> bool:
            with suppress(SkillsUseError):
                return tree_digests.with_links(entry / "tree").digest == digest
            return False

        def build(entry: Path) -> int:
            return self._copy(source, entry / "tree", digest)

        with self._cache.lease(_name(digest), build, is_valid) as entry:
            yield entry / "tree"

    def has(self, digest: str) -> bool:
        """Whether there is a copy of this tree; its digest is verified on use."""
        return _DIGEST.fullmatch(digest) is not None and self._cache.has(_name(digest))

    def count(self) -> int:
        """Return how many copies there are."""
        return len(self._cache.names())

    def _is_usable(self, reachable: bool) -> bool:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            return False
        return os.access(self.folder, os.W_OK) and not (reachable and unreachable(self.folder))

    def _copy(self, source: Path, target: Path, digest: str) -> int:
        """Copy first and verify the copy, so that later changes to `source` do not matter."""
        size = copy_tree(source, target)
        if DigestMemo().with_links(target).digest != digest:
            remove_tree(target)
            raise ChangedTreeError.of(source)
        return size


def _name(digest: str) -> str:
    return digest.replace(":", "-")


def copy_tree(source: Path, target: Path) -> int:
    """Copy regular files and the text of links, world-readable and read-only; return the size."""
    target.mkdir(parents=True)
    links = links_of(source)
    total = 0
    for path, executable, chunks in read_tree(
        source, max_files=TREE_FILES, max_bytes=TREE_BYTES, skipped=frozenset(links)
    ):
        place = target / path
        place.parent.mkdir(parents=True, exist_ok=True)
        with open(place, "xb") as file:
            total += sum(map(file.write, chunks))
            os.fchmod(file.fileno(), 0o555 if executable else 0o444)
    for path, text in links.items():
        place = target / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(text)
    for where, _, _ in os.walk(target, topdown=False):
        os.chmod(where, 0o555)
    return total


def links_of(folder: Path) -> dict[str, str]:
    """Return the text of every link beneath `folder`, by its path there."""
    found: dict[str, str] = {}
    left = TREE_ENTRIES
    for where, folders, files in os.walk(folder):
        left -= len(folders) + len(files)
        if left < 0:
            raise SizeLimitExceededError(f"{folder} has more than {TREE_ENTRIES:,} files and folders")
        for name in (*folders, *files):
            path = os.path.join(where, name)
            with suppress(OSError):
                if stat.S_ISLNK(os.lstat(path).st_mode):
                    found[os.path.relpath(path, folder)] = os.readlink(path)
    return found
