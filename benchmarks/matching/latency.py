"""How long a request takes in libraries of many sizes, beside a plain FTS5 query of the same words."""

import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.matching.data import Library
from skillkit.core.models import SkillMetadata
from skillkit.matching import MatchingSettings, Mode, SkillMatcher
from skillkit.matching.terms import terms

REQUESTS = 200
EMBEDDED = 1_000
"""Skills up to which the mode with embeddings is timed."""


def table(libraries: Sequence[Library], corpus: Library | None, sizes: Sequence[int]) -> None:
    """Print percentiles with the index loaded; every request is new to the matcher."""
    cases = [case.request for library in libraries for case in library.positive]
    requests = cases[:: max(1, len(cases) // REQUESTS)][:REQUESTS]
    heading = (
        f"\n{'skills':>7} {'mode':<10} {'prepare':>9} {'memory':>9} {'p50':>8} {'p90':>8} {'p99':>8}  ms"
    )
    print(f"{heading}   × FTS5 (p50)")
    real = max(libraries, key=lambda library: len(library.skills))
    for size in sizes:
        if size > len(real.skills) and not corpus:
            continue
        grown = real.filled(corpus, size) if corpus else real
        skills = grown.skills[:size]
        plain = _percentiles(_fts5(skills), requests)
        _print(size, "fts5", None, plain, plain)
        for mode in (Mode.KEYWORD, Mode.LEXICAL, Mode.HYBRID):
            if mode is Mode.HYBRID and size > EMBEDDED:
                continue
            with tempfile.TemporaryDirectory() as cache:
                before, started = _resident(), time.process_time()
                matcher = SkillMatcher(
                    skills,
                    mode=mode,
                    body=grown.body,
                    settings=MatchingSettings(cache_dir=Path(cache)),
                    embedder=_QuickIndex() if mode is Mode.HYBRID else None,
                )
                matcher.prepare()
                matcher.match("warm up")
                made = (time.process_time() - started, _resident() - before)
                _print(size, mode.value, made, _percentiles(matcher.match, requests), plain)


def _resident() -> float:
    """Megabytes of this process in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


class _QuickIndex:
    """Embeds requests with the real model, but the library with noise: thousands of descriptions take
    minutes, and what is timed here does not depend on what their vectors are."""

    identity = "noise"

    def __init__(self) -> None:
        from skillkit.matching.embedding import default_embedder

        self._model = default_embedder()

    def embed(
        self, texts: Sequence[str], tokens: int = 256
    ) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
        if len(texts) == 1:
            return self._model.embed(texts, tokens)
        noise = np.random.default_rng(1).normal(size=(len(texts), 384)).astype(np.float32)
        return noise / np.linalg.norm(noise, axis=1, keepdims=True)


def _fts5(skills: Sequence[SkillMetadata]) -> Callable[[str], object]:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(name, description, tokenize='porter unicode61')")
    connection.executemany("INSERT INTO t VALUES (?, ?)", [(s.name, s.description) for s in skills])

    def ask(request: str) -> object:
        query = " OR ".join(f'"{term}"' for term in dict.fromkeys(terms(request)))
        return connection.execute(
            "SELECT rowid, bm25(t) FROM t WHERE t MATCH ? ORDER BY rank LIMIT 3", (query,)
        ).fetchall()

    return ask


def _percentiles(ask: Callable[[str], object], requests: Sequence[str]) -> tuple[float, float, float]:
    times = []
    for request in requests:
        started = time.perf_counter()
        ask(request)
        times.append(1000 * (time.perf_counter() - started))
    p50, p90, p99 = np.percentile(times, [50, 90, 99])
    return float(p50), float(p90), float(p99)


def _print(
    size: int,
    what: str,
    made: tuple[float, float] | None,
    found: tuple[float, float, float],
    plain: tuple[float, float, float],
) -> None:
    prepare = f"{made[0]:8.2f}s {made[1]:6.0f} MB" if made else " " * 19
    numbers = " ".join(f"{value:8.2f}" for value in found)
    print(f"{size:>7} {what:<10} {prepare} {numbers}       {found[0] / plain[0]:.1f}", flush=True)
