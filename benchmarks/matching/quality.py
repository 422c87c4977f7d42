"""How often the right skill comes first, and how often one comes that nobody needs."""

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.matching.data import Library
from skillkit.matching import MatchingSettings, Mode, SkillMatcher

DEEP = 10


@dataclass(frozen=True)
class Quality:
    """One library in one mode."""

    library: str
    recall1: float
    recall3: float
    mrr: float
    kept: float
    """Share of correct top hits that the shipped threshold keeps."""
    matched: float
    """Share of requests that need no skill and match one at the shipped threshold."""
    matched90: float
    """The same at the threshold that keeps 90 % of the correct top hits."""
    forbidden: float | None
    """Share of requests for which a skill matches that its author forbids."""


def measure(
    library: Library, none: Sequence[str], mode: Mode, *, body: bool = True, cache: Path | None = None
) -> Quality:
    settings = MatchingSettings(cache_dir=cache)
    matcher = SkillMatcher(library.skills, mode=mode, body=library.body if body else None, settings=settings)
    ranks, hits = [], []
    for case in library.positive:
        ranked = matcher.rank(case.request, DEEP)
        names = [match.skill.name for match in ranked]
        rank = min((names.index(name) for name in case.relevant if name in names), default=None)
        ranks.append(rank)
        if rank == 0:
            hits.append(ranked[0].score)
    tops = [ranked[0].score if (ranked := matcher.rank(request, 1)) else 0.0 for request in none]
    forbidden = [
        any(match.skill.name in case.forbidden for match in matcher.match(case.request))
        for case in library.cases
        if case.forbidden and not case.relevant
    ]
    return Quality(
        library.name,
        _share(rank == 0 for rank in ranks),
        _share(rank is not None and rank < 3 for rank in ranks),
        100 * float(np.mean([0.0 if rank is None else 1 / (rank + 1) for rank in ranks])),
        _share(score >= matcher.threshold for score in hits),
        _share(bool(matcher.match(request)) for request in none),
        _share(top >= np.quantile(hits, 0.1) for top in tops) if hits else 0.0,
        _share(forbidden) if forbidden else None,
    )


def table(libraries: Sequence[Library], none: Sequence[str]) -> None:
    """Print every mode over every library, and the mean of the libraries."""
    heading = f"{'mode':<22} {'library':<12} {'R@1':>6} {'R@3':>6} {'MRR':>6} {'kept':>6} "
    print(f"{heading}{'none':>6} {'none90':>7} {'forbidden':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for label, mode, body in (
            ("keyword", Mode.KEYWORD, False),
            ("lexical without bodies", Mode.LEXICAL, False),
            ("lexical", Mode.LEXICAL, True),
            ("semantic", Mode.SEMANTIC, False),
            ("hybrid without bodies", Mode.HYBRID, False),
            ("hybrid", Mode.HYBRID, True),
        ):
            rows = [measure(library, none, mode, body=body, cache=Path(folder)) for library in libraries]
            for row in rows:
                _print(label, row)
            _print(label, _mean(rows))


def _mean(rows: Sequence[Quality]) -> Quality:
    columns = ("recall1", "recall3", "mrr", "kept", "matched", "matched90")
    means = {name: float(np.mean([getattr(row, name) for row in rows])) for name in columns}
    known = [row.forbidden for row in rows if row.forbidden is not None]
    return Quality("mean", **means, forbidden=float(np.mean(known)) if known else None)


def _print(label: str, row: Quality) -> None:
    forbidden = "-" if row.forbidden is None else f"{row.forbidden:.1f}"
    numbers = f"{row.recall1:6.1f} {row.recall3:6.1f} {row.mrr:6.1f} {row.kept:6.1f} "
    print(
        f"{label:<22} {row.library:<12} {numbers}{row.matched:6.1f} {row.matched90:7.1f} {forbidden:>10}",
        flush=True,
    )


def _share(values: Iterable[bool]) -> float:
    found = list(values)
    return 100 * float(np.mean(found)) if found else 0.0
