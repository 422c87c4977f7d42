"""ContentCache: exact keys, exact numbers, the longest unused goes first."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from skillkit.core.cache import CacheStats, ContentCache, Stamp

NOW = Stamp(1, 2, 3, 4)


def test_a_text_is_found_by_file_and_exact_arguments() -> None:
    cache = ContentCache()
    cache.put("/a", "x", NOW, "text")
    assert cache.get("/a", "x", NOW) == "text"
    assert cache.get("/a", " x", NOW) is None
    assert cache.get("/a", "X", NOW) is None
    assert cache.get("/b", "x", NOW) is None
    assert cache.get_stats() == CacheStats(size=1, max_size=100, hits=1, misses=3)
    assert cache.get_stats().hit_rate == 0.25


@pytest.mark.parametrize(
    "other",
    [
        NOW._replace(mtime_ns=0),
        NOW._replace(mtime_ns=9),
        NOW._replace(size=1),
        NOW._replace(inode=4),
        NOW._replace(ctime_ns=5),
    ],
)
def test_any_other_state_of_the_file_is_a_miss_and_forgets_the_text(other: Stamp) -> None:
    cache = ContentCache()
    cache.put("/a", "", NOW, "old")
    assert cache.get("/a", "", other) is None
    assert cache.get_stats().size == 0


def test_the_entry_used_longest_ago_makes_room() -> None:
    cache = ContentCache(max_size=2)
    cache.put("/a", "", NOW, "a")
    cache.put("/b", "", NOW, "b")
    assert cache.get("/a", "", NOW) == "a"
    cache.put("/c", "", NOW, "c")
    assert cache.get("/b", "", NOW) is None
    assert cache.get("/a", "", NOW) == "a"
    assert cache.get("/c", "", NOW) == "c"
    cache.put("/a", "", NOW, "a2")
    cache.put("/d", "", NOW, "d")
    assert cache.get("/c", "", NOW) is None
    assert cache.get("/a", "", NOW) == "a2"


def test_clearing_one_file_or_all_says_how_many() -> None:
    cache = ContentCache()
    for path, arguments in (("/a", ""), ("/a", "x"), ("/b", "")):
        cache.put(path, arguments, NOW, "text")
    assert cache.clear("/a") == 2
    assert cache.clear("/a") == 0
    assert cache.clear() == 1
    assert cache.get_stats().size == 0


def test_nothing_asked_is_a_hit_rate_of_zero() -> None:
    assert ContentCache().get_stats().hit_rate == 0.0


@pytest.mark.parametrize("size", [0, -1])
def test_a_cache_has_room(size: int) -> None:
    with pytest.raises(ValueError, match="must be positive"):
        ContentCache(size)


def test_numbers_are_exact_under_32_threads() -> None:
    cache = ContentCache(max_size=50)

    def use(thread: int) -> None:
        for step in range(500):
            key = f"/{(thread + step) % 80}"
            text = cache.get(key, "", NOW)
            assert text in (None, key), "another caller's text"
            cache.put(key, "", NOW, key)

    with ThreadPoolExecutor(32) as pool:
        list(pool.map(use, range(32)))
    stats = cache.get_stats()
    assert stats.hits + stats.misses == 32 * 500
    assert stats.size == 50


def test_one_cache_serves_several_event_loops() -> None:
    cache = ContentCache()

    async def use() -> None:
        for step in range(100):
            cache.put(f"/{step}", "", NOW, "text")
            await asyncio.sleep(0)
            cache.get(f"/{step}", "", NOW)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: asyncio.run(use()), range(4)))
    stats = cache.get_stats()
    assert stats.hits + stats.misses == 400
    assert stats.size == 100


@pytest.mark.parametrize(
    ("written", "changed", "settled"),
    [(-10, -10, True), (-10, 0, False), (0, 0, False), (0, -10, False), (10, 10, True)],
)
def test_only_what_no_later_write_could_leave_as_it_is_counts_as_settled(
    written: int, changed: int, settled: bool
) -> None:
    """A time of the last write that was set back proves nothing."""
    now = time.time_ns()
    stamp = Stamp(now + written * 10**9, 1, 1, now + changed * 10**9)
    assert stamp.is_settled() == settled


def test_it_counts_when_the_reading_began_not_when_it_ended() -> None:
    """On a busy machine a write and a reading of half of it both take long."""
    written = time.time_ns() - 10 * 10**9
    stamp = Stamp(written, 1, 1, written)
    assert stamp.is_settled()
    assert not stamp.is_settled(written + 300_000_000)
