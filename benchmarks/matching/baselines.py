"""Our matching beside what people use instead: a full-text query, and nearest embeddings."""

import re
import sqlite3
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.matching.data import Library
from benchmarks.matching.quality import DEEP, measure
from benchmarks.measure import record
from benchmarks.measure import table as print_table
from skillkit.matching import Mode
from skillkit.matching.embedding import default_embedder
from skillkit.matching.terms import STOP_WORDS

WORD = re.compile(r"\w+")
Rank = Callable[[str], list[tuple[str, float]]]
"""The best skills for a request with their scores, the best one first."""


def table(libraries: Sequence[Library], none: Sequence[str], *, recording: bool = False) -> None:
    """Print, and keep if asked to, means over the libraries in percent."""
    rows = []
    for name, ranking in (("SQLite FTS5 (BM25)", full_text), ("MiniLM embeddings", embeddings)):
        rows.append((name, [baseline(library, none, ranking(library)) for library in libraries]))
    with tempfile.TemporaryDirectory() as cache:
        for mode in (Mode.LEXICAL, Mode.HYBRID):
            found = [measure(library, none, mode, cache=Path(cache)) for library in libraries]
            numbers = [(row.recall1, row.recall3, row.matched90) for row in found]
            rows.append((f"skillkit {mode.value}", numbers))
    means = [(name, [round(float(mean), 1) for mean in np.mean(numbers, axis=0)]) for name, numbers in rows]
    print_table(
        "Right skill first, among three; requests without need that get one when 90 % of the right ones pass",
        ["what", "first", "among three", "unneeded"],
        [[name, *(f"{number:.1f}" for number in numbers)] for name, numbers in means],
    )
    if recording:
        contenders = [
            dict(zip(("what", "first", "among three", "unneeded"), (name, *numbers), strict=True))
            for name, numbers in means
        ]
        asked = sum(len(library.positive) for library in libraries)
        counts = {"libraries": len(libraries), "requests": asked, "requests without need": len(none)}
        record("matching", {"unit": "%, mean of the libraries", **counts, "contenders": contenders})


def baseline(library: Library, none: Sequence[str], rank: Rank) -> tuple[float, float, float]:
    places, hits = [], []
    for case in library.positive:
        ranked = rank(case.request)
        names = [name for name, _ in ranked]
        place = min((names.index(name) for name in case.relevant if name in names), default=DEEP)
        places.append(place)
        if place == 0:
            hits.append(ranked[0][1])
    line = np.quantile(hits, 0.1)
    tops = [ranked[0][1] if (ranked := rank(request)) else -np.inf for request in none]
    return (
        100 * float(np.mean(np.array(places) == 0)),
        100 * float(np.mean(np.array(places) < 3)),
        100 * float(np.mean(np.array(tops) >= line)),
    )


def full_text(library: Library) -> Rank:
    """Name and description in FTS5 with Porter's stems; any word of the request that says something."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE skills USING fts5(name, text, tokenize='porter unicode61')")
    rows = [(skill.name, f"{skill.name} {skill.description}") for skill in library.skills]
    connection.executemany("INSERT INTO skills VALUES (?, ?)", rows)
    query = "SELECT name, -bm25(skills) FROM skills WHERE text MATCH ? ORDER BY bm25(skills) LIMIT ?"

    def rank(request: str) -> list[tuple[str, float]]:
        words = dict.fromkeys(word for word in WORD.findall(request.lower()) if word not in STOP_WORDS)
        wanted = " OR ".join(f'"{word}"' for word in words)
        return connection.execute(query, (wanted, DEEP)).fetchall() if wanted else []

    return rank


def embeddings(library: Library) -> Rank:
    """The cosine between the request and name with description."""
    model = default_embedder()
    names = [skill.name for skill in library.skills]
    vectors = model.embed([f"{skill.name}: {skill.description}" for skill in library.skills])

    def rank(request: str) -> list[tuple[str, float]]:
        scores = vectors @ model.embed([request])[0]
        best = np.argsort(-scores)[:DEEP]
        return [(names[place], float(scores[place])) for place in best]

    return rank
