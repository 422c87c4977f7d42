"""Private copies of skills, named by digest: what runs has the bytes that were approved."""

import fcntl
import os
import re
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from skillkit.core.digest import read_tree
from skillkit.core.digest_memo import MAX_BYTES, MAX_ENTRIES, MAX_FILES, DigestMemo, tree_digests
from skillkit.core.disk import remove_tree, unreachable
from skillkit.core.exceptions import SizeLimitExceededError, SkillsUseError

KEPT_TREES = 64
KEPT_BYTES = 1 << 30
_DIGEST = re.compile(r"(?:with-links:)?sha256:[0-9a-f]{64}")
_USED = "used"
_HOUR = 3600.0
_TRIES = 5


class ChangedTreeError(SkillsUseError):
    """The folder does not hold the tree that the run was approved for."""

    @classmethod
    def of(cls, folder: Path) -> "ChangedTreeError":
        return cls(
            f"The files in {folder} changed after this run was approved, so nothing was run; "
            "ask again, and the files are judged as they are now"
        )


class TreeStore:
    """Copies beneath one folder, each made once and shared by threads and processes.

    A folder that others may write to can change at any moment between judging and running, and
    while the script runs; a copy that only we know, judged after it was made, cannot.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def pinned(self, source: Path, digest: str, *, reachable: bool = False) -> Iterator[Path]:
        """A copy of `source` that has `digest`; ChangedTreeError if `source` has another one.

        `reachable` wants a copy that any user can read by its path.
        """
        if not _DIGEST.fullmatch(digest):
            raise ChangedTreeError(f"The run names no digest of {source}, so nothing can be compared with it")
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
        descriptor, tree = self._in_use(source, digest)
        try:
            yield tree
        finally:
            os.close(descriptor)

    def has(self, digest: str) -> bool:
        """Whether there is a copy of this tree; it is compared with its digest when it is used."""
        return _DIGEST.fullmatch(digest) is not None and (self._entry(digest) / _USED).exists()

    def count(self) -> int:
        """Return how many copies there are."""
        return sum(1 for _ in self.folder.glob(f"*/{_USED}"))

    def _entry(self, digest: str) -> Path:
        return self.folder / digest.replace(":", "-")

    def _is_usable(self, reachable: bool) -> bool:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            return False
        return os.access(self.folder, os.W_OK) and not (reachable and unreachable(self.folder))

    def _in_use(self, source: Path, digest: str) -> tuple[int, Path]:
        """The copy and a descriptor that keeps it from being removed."""
        entry = self._entry(digest)
        for _ in range(_TRIES):
            try:
                descriptor = os.open(entry / _USED, os.O_RDWR | os.O_CLOEXEC)
            except FileNotFoundError:
                self._add(source, entry, digest)
                continue
            holds = False
            try:
                holds = self._holds(entry, descriptor, digest)
            finally:
                if not holds:
                    os.close(descriptor)
            if holds:
                return descriptor, entry / "tree"
        raise ChangedTreeError(f"The copy of {source} in {self.folder} changes while it is looked at")

    def _holds(self, entry: Path, descriptor: int, digest: str) -> bool:
        """Whether the copy that `descriptor` belongs to is still there and is what its name says."""
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        try:
            if not os.path.samestat(os.fstat(descriptor), os.stat(entry / _USED)):
                return False
        except FileNotFoundError:
            return False
        with suppress(SkillsUseError):
            if tree_digests.with_links(entry / "tree").digest == digest:
                if time.time() - os.fstat(descriptor).st_mtime > _HOUR:
                    os.utime(descriptor)
                return True
        with suppress(BlockingIOError):  # whoever runs from it would lose its files
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._remove_entry(entry)
        return False

    def _add(self, source: Path, entry: Path, digest: str) -> None:
        self._collect()
        scratch = Path(tempfile.mkdtemp(prefix=".building-", dir=self.folder))
        try:
            size = self._copy(source, scratch / "tree", digest)
            (scratch / _USED).write_text(str(size))
            scratch.chmod(0o755)
            with suppress(OSError):  # another process was faster
                scratch.rename(entry)
        finally:
            remove_tree(scratch)

    def _copy(self, source: Path, target: Path, digest: str) -> int:
        """Copy first, judge the copy: what happens to `source` meanwhile does not matter."""
        size = copy_tree(source, target)
        if DigestMemo().with_links(target).digest != digest:
            remove_tree(target)
            raise ChangedTreeError.of(source)
        return size

    def _remove_entry(self, entry: Path) -> None:
        """Take the name away first, so that nobody finds half a copy; call it with the lock held."""
        doomed = entry.with_name(f".removed-{entry.name}-{os.getpid()}-{time.monotonic_ns()}")
        entry.rename(doomed)
        remove_tree(doomed)

    def _collect(self) -> None:
        """Remove the copies that were not used for longest until there is space for one more."""
        entries: list[tuple[float, int, Path]] = []
        for used in self.folder.glob(f"*/{_USED}"):
            with suppress(OSError, ValueError):
                entries.append((used.stat().st_mtime, int(used.read_text() or 0), used.parent))
        entries.sort()
        total = sum(size for _, size, _ in entries)
        while entries and (len(entries) >= KEPT_TREES or total > KEPT_BYTES):
            _, size, entry = entries.pop(0)
            total -= size
            with suppress(OSError), open(entry / _USED, "rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._remove_entry(entry)
        for left in (*self.folder.glob(".building-*"), *self.folder.glob(".removed-*")):
            with suppress(OSError):
                if time.time() - left.stat().st_mtime > 24 * _HOUR:
                    remove_tree(left)


def copy_tree(source: Path, target: Path) -> int:
    """Copy plain files and the text of links, readable by everybody and writable by nobody; the size."""
    target.mkdir(parents=True)
    links = links_of(source)
    total = 0
    for path, executable, chunks in read_tree(
        source, max_files=MAX_FILES, max_bytes=MAX_BYTES, skipped=frozenset(links)
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
    left = MAX_ENTRIES
    for where, folders, files in os.walk(folder):
        left -= len(folders) + len(files)
        if left < 0:
            raise SizeLimitExceededError(f"{folder} has more than {MAX_ENTRIES:,} files and folders")
        for name in (*folders, *files):
            path = os.path.join(where, name)
            with suppress(OSError):
                if stat.S_ISLNK(os.lstat(path).st_mode):
                    found[os.path.relpath(path, folder)] = os.readlink(path)
    return found
