"""Learns the constants of `skillkit.matching.calibration`.

The procedure, documented in docs/matching.md:

1. Word weights: coordinate ascent over the grids below, from the START values, a step being
   taken only when it gains more than NOISE points. Done three times: on each library alone, which is
   then tested on the other (what unseen libraries can expect), and on both (what is shipped).
2. Shares of body and meaning in the sum, by the same ascent.
3. For every set of signals the middle (least cost of missed and unneeded matches) and the slope of its
   confidence, over the whole libraries and random parts of them (seed SEED), so that the line is the
   same for ten skills and for hundreds.
"""

import random
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.matching.data import Library
from skillkit.matching import calibration
from skillkit.matching.body import BodyScorer
from skillkit.matching.embedding import HYBRID_TOKENS, QUERY_TOKENS, default_embedder
from skillkit.matching.lexical import LexicalScorer
from skillkit.matching.request import Request
from skillkit.matching.scorer import Scorer
from skillkit.matching.semantic import SemanticScorer
from skillkit.matching.vectors import VectorCache
from skillkit.matching.weights import LexicalWeights, WordWeights

SEED = 20261115
NOISE = 0.15
UNNEEDED = 3.0
"""What an unneeded match costs, a missed one being 1: the model can still load a skill that was missed."""
PART_SIZES = (12, 24, 48, 96)

START_WORDS = WordWeights(
    saturation=1.5, length=0.75, usual_length=50.0, prior=50.0, commonness=0.5, coverage=0.4, evidence=2.0
)
START_LEXICAL = LexicalWeights(words=START_WORDS, name=1.0, name_covered=0.4, phrase=0.7, elsewhere=0.3)
START_BODY = replace(START_WORDS, usual_length=800.0)
START_SHARES = {"body": 0.4, "semantic": 2.0}
LEXICAL_GRID: dict[str, tuple[float, ...]] = {
    "words.saturation": (1.0, 1.5, 2.0),
    "words.length": (0.6, 0.75, 0.9),
    "words.usual_length": (35.0, 50.0, 70.0),
    "words.prior": (20.0, 50.0, 100.0),
    "words.commonness": (0.3, 0.5, 0.7),
    "words.coverage": (0.3, 0.4, 0.5),
    "name": (0.5, 1.0, 2.0),
    "name_covered": (0.2, 0.3, 0.4, 0.5),
    "phrase": (0.4, 0.7, 1.0),
    "elsewhere": (0.1, 0.3, 0.5),
}
BODY_GRID: dict[str, tuple[float, ...]] = {
    "saturation": (1.0, 1.5, 2.5),
    "usual_length": (500.0, 800.0, 1200.0),
    "coverage": (0.3, 0.4, 0.5),
}
SHARE_GRID: dict[str, tuple[float, ...]] = {
    "body": (0.2, 0.3, 0.4, 0.5),
    "semantic": (1.0, 1.5, 2.0, 2.5, 3.0),
}
Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Problem:
    """A library with its requests parsed."""

    library: Library
    requests: tuple[Request, ...]
    relevant: tuple[tuple[int, ...], ...]
    none: tuple[Request, ...]

    @classmethod
    def of(cls, library: Library, none: Sequence[str]) -> "Problem":
        at = {skill.name: number for number, skill in enumerate(library.skills)}
        return cls(
            library,
            tuple(Request.parse(case.request) for case in library.positive),
            tuple(tuple(at[name] for name in case.relevant) for case in library.positive),
            tuple(Request.parse(request) for request in none),
        )

    def table(self, scorer: Scorer) -> tuple[Scores, Scores]:
        """Scores of the requests and of those that need no skill, one column a skill."""
        for number, skill in enumerate(self.library.skills):
            scorer.add(number, skill)
        return self._filled(scorer, self.requests), self._filled(scorer, self.none)

    def _filled(self, scorer: Scorer, requests: Sequence[Request]) -> Scores:
        scores = np.zeros((len(requests), len(self.library.skills)))
        for row, request in enumerate(requests):
            for column, value in scorer.scores(request).items():
                scores[row, column] = value
        return scores


@dataclass(frozen=True)
class Outcome:
    """Quality of one table of scores."""

    recall1: float
    recall3: float
    mrr: float
    none90: float
    hits: Scores
    none: Scores

    @property
    def objective(self) -> float:
        return (self.recall1 + self.recall3 + self.mrr) / 3 - self.none90


def outcome(problem: Problem, scores: tuple[Scores, Scores]) -> Outcome:
    asked, none = scores
    ranks, hits = [], []
    for row, relevant in zip(asked, problem.relevant, strict=True):
        best = max(row[number] for number in relevant)
        rank = int((row > best).sum())
        ranks.append(rank)
        if rank == 0:
            hits.append(best)
    placed = np.array(ranks)
    tops = none.max(axis=1)
    line = np.quantile(hits, 0.1)
    return Outcome(
        100 * float(np.mean(placed == 0)),
        100 * float(np.mean(placed < 3)),
        100 * float(np.mean(1 / (placed + 1))),
        100 * float(np.mean(tops >= line)),
        np.array(hits),
        tops,
    )


def run(libraries: Sequence[Library], none: Sequence[str], *, write: bool) -> None:
    problems = [Problem.of(library, none) for library in libraries]
    with tempfile.TemporaryDirectory() as cache:
        meaning = {problem.library.name: _meaning(problem, Path(cache)) for problem in problems}
        if len(problems) > 1:
            _cross_validate(problems, meaning)
        learned = _learn(problems, meaning)
        _say("shipped, on all", problems, meaning, learned)
        lines = _lines(problems, none, learned, Path(cache))
    text = _source(learned, lines)
    print(text)
    if write:
        Path(calibration.__file__).write_text(text, encoding="utf-8")


@dataclass(frozen=True)
class Learned:
    """Everything that the ascent moves."""

    lexical: LexicalWeights
    body: WordWeights
    shares: dict[str, float]


Tables = dict[str, tuple[Scores, Scores]]


def _cross_validate(problems: Sequence[Problem], meaning: Tables) -> None:
    for held_out in problems:
        rest = [problem for problem in problems if problem is not held_out]
        learned = _learn(rest, meaning)
        _say(f"learned without {held_out.library.name}, tested on it", [held_out], meaning, learned)


def _learn(problems: Sequence[Problem], meaning: Tables) -> Learned:
    lexical = _ascend(
        START_LEXICAL, LEXICAL_GRID, lambda weights: _mean(problems, _lexical(problems, weights))
    )
    words = _lexical(problems, lexical)
    shares = START_SHARES
    body = _ascend(
        START_BODY,
        BODY_GRID,
        lambda weights: _mean(problems, _sum(words, meaning, _body(problems, weights), shares)),
    )
    bodies = _body(problems, body)
    for name, values in SHARE_GRID.items():
        best = _mean(problems, _sum(words, meaning, bodies, shares))
        for value in values:
            tried = {**shares, name: value}
            gained = _mean(problems, _sum(words, meaning, bodies, tried))
            if gained > best + NOISE:
                shares, best = tried, gained
    return Learned(lexical, body, shares)


def _ascend(start: Any, grid: dict[str, tuple[float, ...]], objective: Callable[[Any], float]) -> Any:
    """Better values one constant at a time, in at most two rounds."""
    current, best = start, objective(start)
    for _ in range(2):
        before = current
        for name, values in grid.items():
            for value in values:
                tried = _with(current, name, value)
                if tried != current and (reached := objective(tried)) > best + NOISE:
                    current, best = tried, reached
        if current == before:
            break
    return current


def _with(weights: Any, name: str, value: float) -> Any:
    owner, dot, inner = name.partition(".")
    if dot:
        return replace(weights, **{owner: replace(getattr(weights, owner), **{inner: value})})
    return replace(weights, **{name: value})


def _lexical(problems: Sequence[Problem], weights: LexicalWeights) -> Tables:
    return {problem.library.name: problem.table(LexicalScorer(weights)) for problem in problems}


def _body(problems: Sequence[Problem], weights: WordWeights) -> Tables:
    return {
        problem.library.name: problem.table(BodyScorer(problem.library.body, weights)) for problem in problems
    }


def _meaning(problem: Problem, cache: Path, tokens: int = HYBRID_TOKENS) -> tuple[Scores, Scores]:
    return problem.table(SemanticScorer(default_embedder(), VectorCache(cache), tokens))


def _sum(words: Tables, meaning: Tables, bodies: Tables, shares: dict[str, float]) -> Tables:
    return {
        name: (
            words[name][0] + shares["semantic"] * meaning[name][0] + shares["body"] * bodies[name][0],
            words[name][1] + shares["semantic"] * meaning[name][1] + shares["body"] * bodies[name][1],
        )
        for name in words
    }


def _mean(problems: Sequence[Problem], tables: Tables) -> float:
    return float(np.mean([outcome(problem, tables[problem.library.name]).objective for problem in problems]))


def _say(what: str, problems: Sequence[Problem], meaning: Tables, learned: Learned) -> None:
    words = _lexical(problems, learned.lexical)
    total = _sum(words, meaning, _body(problems, learned.body), learned.shares)
    print(f"# {what}: {learned}")
    for label, tables in (("lexical", words), ("hybrid", total)):
        for problem in problems:
            found = outcome(problem, tables[problem.library.name])
            print(
                f"#   {label:<8} {problem.library.name:<12} R@1 {found.recall1:.1f}  R@3 {found.recall3:.1f} "
                f" MRR {found.mrr:.1f}  no-skill at keep-90 {found.none90:.1f} %",
                flush=True,
            )


def _lines(
    problems: Sequence[Problem], none: Sequence[str], learned: Learned, cache: Path
) -> dict[tuple[str, ...], tuple[float, float]]:
    """Middle and slope of every set of signals, over libraries of many sizes."""
    pooled: dict[tuple[str, ...], list[Outcome]] = {}
    shares = {"lexical": 1.0, **learned.shares}
    for problem in problems:
        for size, part in _parts(problem.library):
            piece = Problem.of(part, none)
            alone = {"semantic": _meaning(piece, cache, QUERY_TOKENS)}
            tables = {
                "lexical": piece.table(LexicalScorer(learned.lexical)),
                "semantic": _meaning(piece, cache),
                "body": piece.table(BodyScorer(part.body, learned.body)),
            }
            for signals in calibration.CALIBRATIONS:
                weight = shares if len(signals) > 1 else dict.fromkeys(signals, 1.0)
                used = tables if len(signals) > 1 else {**tables, **alone}
                asked, unneeded = (
                    np.sum([weight[name] * used[name][which] for name in signals], axis=0) for which in (0, 1)
                )
                found = outcome(piece, (asked, unneeded))
                pooled.setdefault(signals, []).append(found)
                print(
                    f"#   {'+'.join(signals):<22} {problem.library.name:<10} {size:>4} skills  "
                    f"R@1 {found.recall1:5.1f}  keeps 90 % at {np.quantile(found.hits, 0.1):.2f}  "
                    f"5 % of no-skill above {np.quantile(found.none, 0.95):.2f}",
                    flush=True,
                )
    return {signals: _line(outcomes) for signals, outcomes in pooled.items()}


def _parts(library: Library) -> list[tuple[int, Library]]:
    """The library and, for each size, a random part of it that answers some of its requests."""
    chance = random.Random(SEED)
    wanted = sorted({name for case in library.positive for name in case.relevant})
    names = [skill.name for skill in library.skills]
    parts = [(len(names), library)]
    for size in PART_SIZES:
        if size < len(names):
            core = chance.sample(wanted, min(size, len(wanted)))
            parts.append((size, library.part(f"{library.name}/{size}", core[:size])))
    return parts


def _line(outcomes: Sequence[Outcome]) -> tuple[float, float]:
    """The middle costs least over all outcomes; the slope spreads hits and the rest over 0 to 1."""
    hits = np.concatenate([found.hits for found in outcomes])
    none = np.concatenate([found.none for found in outcomes])
    places = np.linspace(np.quantile(none, 0.5), np.quantile(hits, 0.5), 400)
    costs = [
        np.mean([np.mean(found.hits < at) + UNNEEDED * np.mean(found.none >= at) for found in outcomes])
        for at in places
    ]
    middle = float(places[int(np.argmin(costs))])
    slopes = np.linspace(0.5, 40, 400) / max(middle, 1e-9)
    weight = len(hits) / len(none)
    losses = [
        np.logaddexp(0, -slope * (hits - middle)).sum()
        + weight * np.logaddexp(0, slope * (none - middle)).sum()
        for slope in slopes
    ]
    missed = np.mean([np.mean(found.hits < middle) for found in outcomes])
    unneeded = np.mean([np.mean(found.none >= middle) for found in outcomes])
    print(f"#   line at {middle:.3f}: {missed:.1%} of correct top hits missed, {unneeded:.1%} unneeded")
    return round(middle, 3), round(float(slopes[int(np.argmin(losses))]), 2)


def _source(learned: Learned, lines: dict[tuple[str, ...], tuple[float, float]]) -> str:
    """calibration.py with its numbers replaced."""
    text = Path(calibration.__file__).read_text(encoding="utf-8")
    words = {"LEXICAL": learned.lexical.words, "BODY": learned.body}
    for block, weights in words.items():
        start = text.index(f"{block} = ")
        end = text.index("\n)\n", start)
        text = text[:start] + _filled(text[start:end], weights) + text[end:]
    start = text.index("LEXICAL = ")
    end = text.index("\n)\n", start)
    text = text[:start] + _filled(text[start:end], learned.lexical) + text[end:]
    text = re.sub(r"BODY_SHARE = .*", f"BODY_SHARE = {learned.shares['body']}", text)
    text = re.sub(r"SEMANTIC_SHARE = .*", f"SEMANTIC_SHARE = {learned.shares['semantic']}", text)
    rows = "".join(
        f"    {_shown(signals)}: Calibration(middle={middle}, slope={slope}),\n"
        for signals, (middle, slope) in lines.items()
    )
    return re.sub(r"CALIBRATIONS = \{.*\}\n", f"CALIBRATIONS = {{\n{rows}}}\n", text, flags=re.DOTALL)


def _filled(block: str, weights: LexicalWeights | WordWeights) -> str:
    for name in weights.__slots__:
        value = getattr(weights, name)
        if isinstance(value, float):
            block = re.sub(rf"\b{name}=[\d.]+", f"{name}={value}", block)
    return block


def _shown(signals: tuple[str, ...]) -> str:
    inside = ", ".join(f'"{name}"' for name in signals)
    return f"({inside},)" if len(signals) == 1 else f"({inside})"
