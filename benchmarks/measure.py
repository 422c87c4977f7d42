"""Timing, tables, and the numbers that the documentation's charts are drawn from."""

import json
import os
import platform
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

RESULTS = Path(__file__).parent / "results"


def best(action: Callable[[], object], *, repeat: int = 5, number: int = 1) -> float:
    """Seconds of one call, the best of `repeat` rounds: what the code costs when nothing disturbs it."""
    rounds = []
    for _ in range(repeat):
        start = perf_counter()
        for _ in range(number):
            action()
        rounds.append((perf_counter() - start) / number)
    return min(rounds)


def spread(action: Callable[[], object], *, count: int) -> tuple[float, float]:
    """Median and 95th percentile of `count` calls, in seconds."""
    times = []
    for _ in range(count):
        start = perf_counter()
        action()
        times.append(perf_counter() - start)
    return statistics.median(times), sorted(times)[int(0.95 * (count - 1))]


def duration(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{seconds * 1e6:.1f} µs"
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a Markdown table, ready for the README."""
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"

    print(f"\n### {title}\n")
    print(line(header))
    print("|" + "|".join("-" * (width + 2) for width in widths) + "|")
    for row in rows:
        print(line(row))


def record(name: str, numbers: dict[str, object]) -> None:
    """Keep what was measured, and on what, in benchmarks/results; `python3 dev.py pictures` draws it."""
    system = f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}"
    machine = f"{os.cpu_count()} cores, {system}, Python {platform.python_version()}"
    text = json.dumps({"machine": machine, **numbers}, indent=2, ensure_ascii=False)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")
    print(f"\nRecorded in benchmarks/results/{name}.json")
