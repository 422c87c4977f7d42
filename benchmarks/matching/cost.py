"""What an index costs: processor time and memory to build it, to read it again, and to ask it."""

import multiprocessing
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.matching.data import Library
from benchmarks.measure import record
from benchmarks.measure import table as print_table
from skillkit.matching import MatchingSettings, SkillMatcher

SIZES = (50, 1_000, 10_000)
REQUESTS = 200


def table(
    libraries: Sequence[Library], corpus: Library | None, sizes: Sequence[int], name: str | None
) -> None:
    """Print one row a size; every request is new to the matcher."""
    cases = [case.request for library in libraries for case in library.positive]
    requests = cases[:: max(1, len(cases) // REQUESTS)][:REQUESTS]
    real = max(libraries, key=lambda library: len(library.skills))
    rows = []
    for size in sizes:
        grown = real.filled(corpus, size) if corpus else real
        with tempfile.TemporaryDirectory() as cache:
            first, again = _apart(grown, requests, Path(cache)), _apart(grown, requests, Path(cache))
        rows.append(
            {
                "skills": len(grown.skills),
                "first process, s": round(first[0], 2),
                "MB": round(first[1]),
                "later process, s": round(again[0], 2),
                "MB then": round(again[1]),
                "a match, ms": round(again[2], 2),
                "90 % within, ms": round(again[3], 2),
            }
        )
        print(rows[-1], flush=True)
    print_table(
        "processor time and memory of an index", list(rows[0]), [list(map(str, row.values())) for row in rows]
    )
    if name:
        record(name, {"unit": "processor time", "rows": rows})


def _apart(library: Library, requests: Sequence[str], cache: Path) -> tuple[float, float, float, float]:
    """Measured in a process of its own, so that nothing is warm."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=lambda: sender.send(_measured(library, requests, cache)))
    process.start()
    found: tuple[float, float, float, float] = receiver.recv()
    process.join()
    return found


def _measured(library: Library, requests: Sequence[str], cache: Path) -> tuple[float, float, float, float]:
    before, started = _resident(), time.process_time()
    matcher = SkillMatcher(
        library.skills, mode="lexical", body=library.body, settings=MatchingSettings(cache_dir=cache)
    )
    matcher.prepare()
    built = time.process_time() - started
    times = []
    for request in requests:
        started = time.process_time()
        matcher.match(request)
        times.append(1000 * (time.process_time() - started))
    times.sort()
    return built, _resident() - before, times[len(times) // 2], times[9 * len(times) // 10]


def _resident() -> float:
    """Megabytes of this process in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
