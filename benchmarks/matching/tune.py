"""Learns the constants of `skillkit.matching.calibration`.

The procedure, documented in docs/matching.md:

1. Weights: coordinate ascent over the grids below, from the values that are shipped, a step being taken only
   when it gains more than NOISE points. Done three times: on each library alone, which is then tested on the
   other (what unseen libraries can expect), and on both (what is shipped).
2. For every set of signals the line, over the whole libraries, random parts of them and the libraries among
   strangers of the corpus (seed SEED): the length and size slopes with which most right skills are above it
   where UNNEEDED of the requests without need are, and the slope of the confidence around it. `bench matching
   lines` does only this, and with `--libraries` learns the line of words and instructions, which is the
   default, from those libraries as well, in the sizes that `unseen` measures.
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

from benchmarks.matching import unseen
from benchmarks.matching.data import Library
from skillkit.matching import calibration
from skillkit.matching.calibration import LEXICAL, SEMANTIC_SHARE, LexicalWeights
from skillkit.matching.embedding import HYBRID_TOKENS, QUERY_TOKENS, default_embedder
from skillkit.matching.lexical import LexicalScorer
from skillkit.matching.request import Request
from skillkit.matching.scorer import Scorer
from skillkit.matching.semantic import SemanticScorer
from skillkit.matching.usual import MIDDLING, typicality
from skillkit.matching.vectors import VectorCache

SEED = 20261115
NOISE = 0.15
UNNEEDED = 0.02
"""Of the requests without need, in libraries of every size."""
AMONG_STRANGERS = 0.03
"""The same among 1,000 and more strangers, some of which do answer such requests."""
PART_SIZES = (3, 10, 30, 100)
FILLED = (1_000, 4_000)
GRID: dict[str, tuple[float, ...]] = {
    "words.saturation": (1.0, 1.5, 2.0),
    "words.length": (0.6, 0.75, 0.9),
    "words.usual_length": (35.0, 50.0, 70.0),
    "words.prior": (50.0, 100.0, 200.0),
    "words.commonness": (0.3, 0.5, 0.7),
    "name": (0.5, 1.0, 2.0),
    "name_covered": (0.2, 0.3, 0.4),
    "phrase": (0.4, 0.7, 1.0),
    "excluded": (0.0, 0.5, 1.0, 1.5, 2.0),
    "answered": (0.0, 0.25, 0.5, 0.75),
    "body.saturation": (1.0, 1.5, 2.5),
    "body.prior": (100.0, 200.0, 400.0),
    "body.usual_length": (500.0, 800.0, 1200.0),
    "body_share": (0.4, 0.5, 0.6, 0.7, 0.8),
}
LENGTH_SLOPES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
"""No steeper: no request without need in the data has fewer than five words, so that nothing is known of how
often a shorter one meets a low line by chance."""
BY_DEFAULT = ("lexical", "body")
DEFAULT_LENGTH = 0.4
"""The length slope of these signals, which the labelled requests alone, being long, would have flatter: of
0.3, 0.4 and 0.5 the one with which most right skills in them and in half `A` were above the line."""
SIZE_SLOPES = (0.0, 0.04, 0.08, 0.12, 0.15, 0.18, 0.2, 0.22, 0.25, 0.28, 0.3)
LARGE = 3
"""Skills from which the size of a library raises the line."""
LARGEST, TYPICAL = 3_000, 0.2
"""Up to which it does, and how much a typical word lowers it, for the same signals: chosen on half `A` among
up to 10,000 different strangers."""
Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Problem:
    """A library with its requests parsed."""

    library: Library
    requests: tuple[Request, ...]
    relevant: tuple[tuple[int, ...], ...]
    none: tuple[Request, ...]

    @classmethod
    def of(cls, library: Library, none: Sequence[Request]) -> "Problem":
        at = {skill.name: number for number, skill in enumerate(library.skills)}
        return cls(
            library,
            tuple(Request.parse(case.request) for case in library.positive),
            tuple(tuple(at[name] for name in case.relevant) for case in library.positive),
            tuple(none),
        )

    def outcome(self, scorer: Scorer) -> "Outcome":
        for number, skill in enumerate(self.library.skills):
            scorer.add(number, skill)
        right, ranks = [], []
        for request, relevant in zip(self.requests, self.relevant, strict=True):
            scores = scorer.scores(request)
            best = max(scores.get(number, 0.0) for number in relevant)
            right.append(best)
            ranks.append(sum(value > best for value in scores.values()) if best > 0 else 99)
        tops = [max(scorer.scores(request).values(), default=0.0) for request in self.none]
        return Outcome(
            len(self.library.skills),
            np.array(ranks),
            np.array(right),
            np.log([max(request.length, calibration.FEWEST_WORDS) + 1 for request in self.requests]),
            np.array(tops),
            np.log([max(request.length, calibration.FEWEST_WORDS) + 1 for request in self.none]),
        )


@dataclass(frozen=True)
class Outcome:
    """How one scorer does on one problem."""

    skills: int
    ranks: "NDArray[np.int_]"
    right: Scores
    lengths: Scores
    none: Scores
    none_lengths: Scores
    largest: int = calibration.UNBOUNDED

    @property
    def growth(self) -> float:
        """What the size of the library is multiplied with in a line."""
        return float(np.log(max(min(self.skills, self.largest) / LARGE, 1)))

    @property
    def quality(self) -> float:
        first, three = 100 * np.mean(self.ranks == 0), 100 * np.mean(self.ranks < 3)
        mrr = 100 * np.mean(1 / (self.ranks + 1))
        line = np.quantile(self.right[self.ranks == 0], 0.1)
        return float((first + three + mrr) / 3 - 100 * np.mean(self.none >= line))

    def distances(self, middle: float, length: float, size: float) -> tuple[Scores, Scores]:
        """How far right skills, and the best for requests without need, are above a line."""
        fixed = middle + size * self.growth
        return (
            self.right - fixed - length * self.lengths,
            self.none - fixed - length * self.none_lengths,
        )

    def above(self, middle: float, length: float, size: float) -> tuple[float, float]:
        """The shares of them that are above it."""
        right, none = self.distances(middle, length, size)
        return float(np.mean(right >= 0)), float(np.mean(none >= 0))


def run(
    libraries: Sequence[Library],
    none: Sequence[str],
    corpus: Library | None,
    *,
    write: bool,
    lines_only: bool = False,
    others: Sequence[Library] = (),
    without_embeddings: bool = False,
) -> None:
    parsed = [Request.parse(request) for request in none]
    problems = [Problem.of(library, parsed) for library in libraries]
    weights = LEXICAL
    if not lines_only:
        for held_out in problems:
            rest = [problem for problem in problems if problem is not held_out]
            if rest:
                learned = _learn(rest)
                _say(f"learned without {held_out.library.name}, tested on it", held_out, learned)
        weights = _learn(problems)
        for problem in problems:
            _say("shipped, on all", problem, weights)
    with tempfile.TemporaryDirectory() as cache:
        vectors = VectorCache(Path(cache))
        learner = _Lines(
            libraries,
            others,
            corpus,
            parsed,
            scorer=lambda signals, problem: _scorer(signals, problem, weights, vectors),
        )
        lines = {
            signals: shipped
            if without_embeddings and "semantic" in signals
            else learner.line(signals, shipped)
            for signals, shipped in calibration.CALIBRATIONS.items()
        }
    text = _source(weights, lines)
    print(text)
    if write:
        Path(calibration.__file__).write_text(text, encoding="utf-8")


def _learn(problems: Sequence[Problem]) -> LexicalWeights:
    def objective(weights: LexicalWeights) -> float:
        outcomes = [problem.outcome(LexicalScorer(problem.library.body, weights)) for problem in problems]
        return float(np.mean([found.quality for found in outcomes]))

    return _ascend(LEXICAL, objective)


def _ascend(start: LexicalWeights, objective: Callable[[LexicalWeights], float]) -> LexicalWeights:
    """Better values one constant at a time, in at most two rounds."""
    current, best = start, objective(start)
    for _ in range(2):
        before = current
        for name, values in GRID.items():
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


def _say(what: str, problem: Problem, weights: LexicalWeights) -> None:
    found = problem.outcome(LexicalScorer(problem.library.body, weights))
    print(
        f"# {what}: {problem.library.name} R@1 {100 * np.mean(found.ranks == 0):.1f} "
        f"R@3 {100 * np.mean(found.ranks < 3):.1f}  {weights}",
        flush=True,
    )


class _Lines:
    """Learns the line of a set of signals; also from one labelled library, tested on the other."""

    def __init__(
        self,
        libraries: Sequence[Library],
        others: Sequence[Library],
        corpus: Library | None,
        none: Sequence[Request],
        *,
        scorer: Callable[[tuple[str, ...], Problem], Scorer],
    ) -> None:
        self._libraries, self._scorer = libraries, scorer
        self._labelled = [Problem.of(part, none) for library in libraries for part in _parts(library, corpus)]
        self._others: list[Problem] = []
        chance = random.Random(SEED)
        for size in (*unseen.PARTS, *((unseen.FILLED, *unseen.MERGED) if corpus else ())) if others else ():
            for part, cases in unseen.of_size(others, size, corpus, chance):
                asked = replace(part, cases=tuple(case for case in cases if case.relevant))
                some = none if size > unseen.FILLED else chance.sample(list(none), unseen.NONE_OF_A_PART)
                if asked.cases:
                    self._others.append(Problem.of(asked, some))

    def line(self, signals: tuple[str, ...], shipped: calibration.Calibration) -> calibration.Calibration:
        few = 500 if "semantic" in signals else 1_000_000
        parts = [problem for problem in self._labelled if len(problem.library.skills) < few]
        outcomes = [self._outcome(signals, problem) for problem in parts]
        more = [self._outcome(signals, problem) for problem in self._others] if signals == BY_DEFAULT else []
        learned = _line([*outcomes, *more], signals, shipped.margin)
        print(f"# {'+'.join(signals)}: {learned}", flush=True)
        for library in self._libraries:
            own = [problem.library.name.startswith(library.name) for problem in parts]
            rest = [found for found, is_own in zip(outcomes, own, strict=True) if not is_own]
            if rest:
                line = _line(rest, signals, shipped.margin)
                for problem, found, is_own in zip(parts, outcomes, own, strict=True):
                    if is_own:
                        right, unneeded = found.above(line.middle, line.length, line.size)
                        print(
                            f"#   without {library.name}, on {problem.library.name} ({found.skills} skills): "
                            f"right above the line {right:.1%}, unneeded {unneeded:.1%}",
                            flush=True,
                        )
        return learned

    def _outcome(self, signals: tuple[str, ...], problem: Problem) -> Outcome:
        found = problem.outcome(self._scorer(signals, problem))
        if signals != BY_DEFAULT:
            return found
        right, none = (  # raised as much as the line is lowered
            scores + TYPICAL * (np.array([typicality(one.words) for one in asked]) - MIDDLING)
            for scores, asked in ((found.right, problem.requests), (found.none, problem.none))
        )
        return replace(found, right=right, none=none, largest=LARGEST)


def _scorer(
    signals: tuple[str, ...], problem: Problem, weights: LexicalWeights, vectors: VectorCache
) -> Scorer:
    lexical = LexicalScorer(problem.library.body if "body" in signals else None, weights)
    if "semantic" not in signals:
        return lexical
    tokens = HYBRID_TOKENS if "lexical" in signals else QUERY_TOKENS
    semantic = SemanticScorer(_embedder(), vectors, tokens)
    if "lexical" not in signals:
        return semantic
    from skillkit.matching.hybrid import HybridScorer

    return HybridScorer(lexical, semantic)


class _Remembering:
    """The embedder, asked once for each request although every part of a library asks it again."""

    def __init__(self) -> None:
        self._model = default_embedder()
        self._known: dict[tuple[str, int], Any] = {}
        self.identity = self._model.identity

    def embed(self, texts: Sequence[str], tokens: int = 256) -> Any:
        missing = [text for text in dict.fromkeys(texts) if (text, tokens) not in self._known]
        if missing:
            for text, vector in zip(missing, self._model.embed(missing, tokens), strict=True):
                self._known[text, tokens] = vector
        return np.stack([self._known[text, tokens] for text in texts])


_embedders: list[_Remembering] = []


def _embedder() -> _Remembering:
    if not _embedders:
        _embedders.append(_Remembering())
    return _embedders[0]


def _parts(library: Library, corpus: Library | None) -> list[Library]:
    """The library, random parts of it that answer some of its requests, and the library among strangers."""
    chance = random.Random(SEED)
    wanted = sorted({name for case in library.positive for name in case.relevant})
    parts = [library, *(library.filled(corpus, size) for size in FILLED if corpus)]
    for size in PART_SIZES:
        for number in range(max(1, 30 // size)):
            if size < len(wanted):
                names = chance.sample(wanted, size)
                parts.append(library.part(f"{library.name}/{size}.{number}", names))
    return parts


def _line(outcomes: Sequence[Outcome], signals: tuple[str, ...], margin: float) -> calibration.Calibration:
    scale = 0.1 if signals == ("semantic",) else 1.0
    best: tuple[float, float, float, float] | None = None
    for length in (DEFAULT_LENGTH,) if signals == BY_DEFAULT else LENGTH_SLOPES:
        for size in SIZE_SLOPES:
            lowered = [
                found.none - scale * (length * found.none_lengths + size * found.growth) for found in outcomes
            ]
            places = np.unique(np.concatenate(lowered))
            by_size: dict[int, list[Scores]] = {}
            for found, low in zip(outcomes, lowered, strict=True):
                above = 1 - np.searchsorted(np.sort(low), places) / len(low)
                by_size.setdefault(round(np.log10(found.skills)), []).append(above)
            allowed = [AMONG_STRANGERS if tens >= np.log10(FILLED[0]) else UNNEEDED for tens in by_size]
            shares = [
                np.mean(group, axis=0) / most for group, most in zip(by_size.values(), allowed, strict=True)
            ]
            middle = float(places[np.argmax(np.max(shares, axis=0) <= 1)])
            right = np.mean([found.above(middle, scale * length, scale * size)[0] for found in outcomes])
            if best is None or right > best[0] + 0.001:
                best = (float(right), middle, scale * length, scale * size)
    assert best is not None
    _, middle, length, size = best
    right, chance = (
        np.concatenate([found.distances(middle, length, size)[which] for found in outcomes])
        for which in (0, 1)
    )
    slopes = np.linspace(0.5, 12, 200) / scale
    weight = len(right) / len(chance)
    losses = [
        np.logaddexp(0, -slope * right).sum() + weight * np.logaddexp(0, slope * chance).sum()
        for slope in slopes
    ]
    slope = round(float(slopes[int(np.argmin(losses))]), 2)
    line = calibration.Calibration(round(middle, 3), round(length, 3), round(size, 3), slope, margin, LARGE)
    return replace(line, largest=LARGEST, typical=TYPICAL) if signals == BY_DEFAULT else line


def _source(weights: LexicalWeights, lines: dict[tuple[str, ...], "calibration.Calibration"]) -> str:
    """calibration.py with its numbers replaced."""
    text = Path(calibration.__file__).read_text(encoding="utf-8")
    start = text.index("LEXICAL = ")
    end = text.index("\n)\n", start)
    block = text[start:end]
    for part in ("words", "body"):
        begin = block.index(f"    {part}=WordWeights(")
        stop = block.index("    ),", begin)
        block = block[:begin] + _filled(block[begin:stop], getattr(weights, part)) + block[stop:]
    text = text[:start] + _filled(block, weights) + text[end:]
    text = re.sub(r"SEMANTIC_SHARE = .*", f"SEMANTIC_SHARE = {SEMANTIC_SHARE}", text)
    rows = "".join(
        f"    {_shown(signals)}: Calibration(\n        middle={line.middle}, length={line.length}, "
        f"size={line.size}, slope={line.slope}, margin={line.margin}, large={line.large}, "
        f"largest={line.largest}, typical={line.typical}\n    ),\n"
        for signals, line in lines.items()
    )
    return re.sub(r"CALIBRATIONS = \{.*\}\n", f"CALIBRATIONS = {{\n{rows}}}\n", text, flags=re.DOTALL)


def _filled(block: str, weights: Any) -> str:
    for name in weights.__slots__:
        value = getattr(weights, name)
        if isinstance(value, float):
            block = re.sub(rf"(?m)^( +){name}=[\d.]+", rf"\g<1>{name}={value}", block)
    return block


def _shown(signals: tuple[str, ...]) -> str:
    inside = ", ".join(f'"{name}"' for name in signals)
    return f"({inside},)" if len(signals) == 1 else f"({inside})"
