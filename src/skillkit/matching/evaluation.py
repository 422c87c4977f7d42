"""How well a library answers requests whose right answer is known, for authors who tune descriptions."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from skillkit.core.exceptions import ConfigurationError
from skillkit.core.names import canonical_name
from skillkit.matching.matcher import Match, SkillMatcher

LARGEST_FILE = 64 * 1024 * 1024
DEEP = 10


@dataclass(frozen=True, slots=True)
class EvaluationCase:
    """A request, the skills that answer it and those that must not fire, by name."""

    query: str
    relevant: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Confusion:
    """A request that was not answered as it should be."""

    query: str
    expected: tuple[str, ...]
    """Empty where nothing should have matched."""
    found: tuple[str, ...]
    """What matched, best first; where nothing did, the nearest."""
    score: float
    """Of the first one found."""
    problem: str
    """`missed`, `outranked`, `below-threshold`, `unneeded` or `forbidden`."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Shares are between 0 and 1, and None where no case says anything about them."""

    cases: int
    mode: str
    threshold: float
    recall_at_1: float | None
    recall_at_3: float | None
    mrr: float | None
    matched: float | None
    """Share of requests with an answer whose answer really matches, at the threshold."""
    false_positives: float | None
    """Share of requests without an answer for which something forbidden, or anything, matches."""
    confusions: tuple[Confusion, ...]

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return asdict(self)


def evaluate(matcher: SkillMatcher, cases: Iterable[EvaluationCase]) -> Evaluation:
    """Ask every request and compare."""
    cases = list(cases)
    ranks: list[int | None] = []
    matched: list[bool] = []
    false: list[bool] = []
    confusions: list[Confusion] = []
    for case in cases:
        ranked = matcher.rank(case.query, DEEP)
        matches = matcher.match(case.query)
        if case.relevant:
            rank = _rank(ranked, case.relevant)
            ranks.append(rank)
            matched.append(_rank(matches, case.relevant) is not None)
            problem = _problem_of_answer(rank, answered=matched[-1])
        else:
            wrong = [match for match in matches if not case.forbidden or _named(match, case.forbidden)]
            false.append(bool(wrong))
            problem = ("forbidden" if case.forbidden else "unneeded") if wrong else None
        if problem:
            confusions.append(_confusion(case, matches or ranked[:1], problem))
    return Evaluation(
        len(cases),
        matcher.mode.value,
        matcher.threshold,
        _share([rank == 0 for rank in ranks]),
        _share([rank is not None and rank < 3 for rank in ranks]),
        _share([0.0 if rank is None else 1 / (rank + 1) for rank in ranks]),
        _share(matched),
        _share(false),
        tuple(confusions),
    )


def read_cases(path: Path, skill: str | None = None) -> list[EvaluationCase]:
    """Cases from `[{"query", "should_trigger"}]`, which are about one skill, or from lines of
    `{"query", "relevant", "negative_for"}`."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise ConfigurationError(f"{path} is larger than {LARGEST_FILE:,} bytes", invalid_path=str(path))
        text = path.read_text(encoding="utf-8-sig")
        rows = json.loads(text) if text.lstrip().startswith("[") else _lines(text)
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ConfigurationError(
            f"Cannot read evaluation cases from {path}: {error}", invalid_path=str(path)
        ) from error
    return [_case(row, number, path, skill) for number, row in enumerate(rows, 1)]


def _lines(text: str) -> list[object]:
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def _case(row: object, number: int, path: Path, skill: str | None) -> EvaluationCase:
    def refuse(why: str) -> ConfigurationError:
        return ConfigurationError(f"Case {number} of {path} {why}", invalid_path=str(path))

    if not isinstance(row, Mapping) or not isinstance(query := row.get("query"), str):
        raise refuse('has no "query" text')
    if "should_trigger" in row:
        should = row["should_trigger"]
        if not isinstance(should, bool):
            raise refuse('has a "should_trigger" that is not true or false')
        if skill is None:
            raise refuse('has "should_trigger": say which skill it is about')
        return EvaluationCase(query, (skill,) if should else (), () if should else (skill,))
    lists = []
    for field in ("relevant", "negative_for"):
        names = row.get(field, [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise refuse(f'has a "{field}" that is not a list of names')
        lists.append(tuple(names))
    return EvaluationCase(query, *lists)


def _named(match: Match, names: Sequence[str]) -> bool:
    """Whether one of `names`, which may have a library before a slash or colon, is this skill."""
    own = match.skill.canonical_name
    return any(canonical_name(name.replace(":", "/").rsplit("/", 1)[-1]) == own for name in names)


def _rank(matches: Sequence[Match], names: Sequence[str]) -> int | None:
    return next((rank for rank, match in enumerate(matches) if _named(match, names)), None)


def _problem_of_answer(rank: int | None, *, answered: bool) -> str | None:
    if rank is None:
        return "missed"
    if rank > 0:
        return "outranked"
    return None if answered else "below-threshold"


def _confusion(case: EvaluationCase, found: Sequence[Match], problem: str) -> Confusion:
    names = tuple(match.skill.name for match in found)
    return Confusion(case.query, case.relevant, names, found[0].score if found else 0.0, problem)


def _share(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 4) if values else None
