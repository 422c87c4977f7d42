"""Content-addressed folder cache: built once, leased while in use, removed when idle."""

import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path

from skillkit.core.disk import locked, remove_tree
from skillkit.core.exceptions import SkillsUseError

_USED = "used"
"""Locked by whoever uses an entry; its time is that of the last use, its text the size of the entry."""
_HOUR = 3600.0
_TRIES = 10

Build = Callable[[Path], int | None]
"""Builds an entry in a new folder; returns its size where that matters."""


class ChangedFolderError(SkillsUseError, code="changed-folder"):
    """A cached folder does not match the digest in its name."""


class FolderCache:
    """Entries beneath one folder, shared by threads and processes."""

    def __init__(self, folder: Path, *, in_turn: bool = False) -> None:
        """`in_turn` lets one process build while others wait, for what is costly to build."""
        self.folder = folder
        self._in_turn = in_turn

    @contextmanager
    def lease(
        self, name: str, build: Build, is_valid: Callable[[Path], bool] = lambda entry: True
    ) -> Iterator[Path]:
        """Lease the entry of that name for the block.

        One that is not valid any more is built again.
        """
        descriptor = self._leased(self.folder / name, build, is_valid)
        try:
            yield self.folder / name
        finally:
            os.close(descriptor)

    def has(self, name: str) -> bool:
        return (self.folder / name / _USED).exists()

    def names(self) -> list[str]:
        return sorted(used.parent.name for used in self.folder.glob(f"*/{_USED}"))

    def alone(self, name: str) -> AbstractContextManager[None]:
        """Hold the lock on building this entry, among threads and processes."""
        return locked(self.folder / "locks" / f".{name}.lock")

    def build(self, name: str, build: Build) -> None:
        """Build an entry unless it exists; one that another process finished first is used."""
        with self.alone(name) if self._in_turn else nullcontext():
            if self.has(name):
                return
            scratch = Path(tempfile.mkdtemp(prefix=".building-", dir=self.folder))
            try:
                size = build(scratch)
                (scratch / _USED).write_text(str(size or 0))
                scratch.chmod(0o755)
                with suppress(OSError):  # another process was faster
                    scratch.rename(self.folder / name)
            finally:
                remove_tree(scratch)

    def collect(self, *, older_than: float = 0.0, most: int = 0, most_bytes: int = 0) -> list[Path]:
        """Remove entries that nobody uses, the longest unused first, and what broken builds left.

        Only those unused for `older_than` seconds; with limits, only until there is space for one more.
        """
        entries: list[tuple[float, int, Path]] = []
        for used in self.folder.glob(f"*/{_USED}"):
            with suppress(OSError, ValueError):
                entries.append((used.stat().st_mtime, int(used.read_text() or 0), used.parent))
        count, total, removed = len(entries), sum(size for _, size, _ in entries), []
        for _, size, entry in sorted(entries):
            if count < most and total <= most_bytes:
                break
            count, total = count - 1, total - size
            with suppress(OSError), open(entry / _USED, "rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if time.time() - os.fstat(file.fileno()).st_mtime >= older_than:
                    self._remove(entry)
                    removed.append(entry)
        for left in (*self.folder.glob(".building-*"), *self.folder.glob(".removed-*")):
            with suppress(OSError):
                if time.time() - left.stat().st_mtime > 24 * _HOUR:
                    remove_tree(left)
        return removed

    def _leased(self, entry: Path, build: Build, is_valid: Callable[[Path], bool]) -> int:
        for _ in range(_TRIES):
            try:
                descriptor = os.open(entry / _USED, os.O_RDWR | os.O_CLOEXEC)
            except FileNotFoundError:
                self.build(entry.name, build)
                continue
            leased = False
            try:
                leased = self._hold(entry, descriptor, is_valid)
            finally:
                if not leased:
                    os.close(descriptor)
            if leased:
                return descriptor
        raise ChangedFolderError(f"{entry} changed while it was checked")

    def _hold(self, entry: Path, descriptor: int, is_valid: Callable[[Path], bool]) -> bool:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        try:
            if not os.path.samestat(os.fstat(descriptor), os.stat(entry / _USED)):
                return False
        except FileNotFoundError:
            return False
        if is_valid(entry):
            if time.time() - os.fstat(descriptor).st_mtime > _HOUR:
                os.utime(descriptor)
            return True
        with suppress(BlockingIOError):  # its users would lose their files
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._remove(entry)
        return False

    def _remove(self, entry: Path) -> None:
        """Rename the entry first, so that nobody finds a partial one; call it with the lock held."""
        doomed = entry.with_name(f".removed-{entry.name}-{os.getpid()}-{time.monotonic_ns()}")
        entry.rename(doomed)
        remove_tree(doomed)
