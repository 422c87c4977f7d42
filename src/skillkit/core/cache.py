"""Cache of rendered instructions."""

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from time import time_ns
from typing import NamedTuple

_WRITE_NS = 1_000_000_000
"""Longer than a write takes to end after it has set the time of the last change, on a busy machine too."""
_TICK_NS = 20_000_000
"""Longer than the coarsest clock that file systems stamp with."""


class Stamp(NamedTuple):
    """What changes when a file changes: enough to notice an edit or a replacement, at the cost of a stat."""

    mtime_ns: int
    size: int
    inode: int
    ctime_ns: int

    def is_settled(self, at: int | None = None) -> bool:
        """Whether a read that starts `at` (now) is consistent, and any later write changes the stamp.

        One within a tick of the clock might not. Who sets the time of the last write back still leaves
        the time of that change.
        """
        now = time_ns() if at is None else at
        return abs(now - self.mtime_ns) > _WRITE_NS and abs(now - self.ctime_ns) > _TICK_NS


@dataclass(frozen=True, slots=True)
class CacheStats:
    """A snapshot of how the cache is doing."""

    size: int
    max_size: int
    hits: int
    misses: int

    @property
    def hit_rate(self) -> float:
        asked = self.hits + self.misses
        return self.hits / asked if asked else 0.0


class _Entry(NamedTuple):
    stamp: Stamp
    text: str
    sha256: str
    settled: bool


class ContentCache:
    """The `max_size` texts used last, by SKILL.md and exact arguments, each valid for one state of its file.

    Safe to share between threads and event loops: no call waits for anything but a dictionary.
    """

    def __init__(self, max_size: int = 100) -> None:
        if max_size <= 0:
            raise ValueError(f"max_size must be positive, got: {max_size}")
        self._max_size = max_size
        self._entries: OrderedDict[tuple[str, str], _Entry] = OrderedDict()
        self._lock = Lock()
        self._hits = 0
        self._misses = 0

    def get(self, path: str, arguments: str, stamp: Stamp | None, sha256: str | None = None) -> str | None:
        """The text rendered for `arguments` while the file was in the state of `stamp`.

        With `sha256`, only if the text was made of that very file; then `stamp` may be None.
        """
        key = (path, arguments)
        with self._lock:
            entry = self._entries.get(key)
            if entry is None or stamp not in (None, entry.stamp) or sha256 not in (None, entry.sha256):
                self._misses += 1
                if entry is not None:
                    del self._entries[key]
                return None
            self._hits += 1
            self._entries.move_to_end(key)
            return entry.text

    def holds(self, path: str, arguments: str) -> bool:
        """Whether there is a text, current or stale."""
        return (path, arguments) in self._entries

    def is_settled(self, path: str, arguments: str) -> bool:
        """Whether an equal stamp proves that the text is current; otherwise compare the file's content."""
        entry = self._entries.get((path, arguments))
        return entry is None or entry.settled

    def put(
        self, path: str, arguments: str, stamp: Stamp, text: str, sha256: str = "", *, settled: bool = True
    ) -> None:
        """Keep `text`; evict the least recently used entry when full."""
        key = (path, arguments)
        with self._lock:
            self._entries[key] = _Entry(stamp, text, sha256, settled)
            self._entries.move_to_end(key)
            if len(self._entries) > self._max_size:
                self._entries.popitem(last=False)

    def clear(self, path: str | None = None) -> int:
        """Drop the texts of one SKILL.md, or all of them; return how many."""
        with self._lock:
            if path is None:
                cleared = len(self._entries)
                self._entries.clear()
                return cleared
            keys = [key for key in self._entries if key[0] == path]
            for key in keys:
                del self._entries[key]
            return len(keys)

    def get_stats(self) -> CacheStats:
        with self._lock:
            return CacheStats(len(self._entries), self._max_size, self._hits, self._misses)
