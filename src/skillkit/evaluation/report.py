"""Report of a test run, as plain data with a versioned JSON form."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from types import MappingProxyType

from skillkit.core.codec import ShapeError, decode, encode
from skillkit.core.exceptions import ConfigurationError

FORMAT = "skillkit.evaluation"
VERSION = 1
EMPTY: Mapping[str, object] = MappingProxyType({})


class Tier(str, Enum):
    """The tested aspect, cheapest first."""

    STATIC = "static"
    ROUTING = "routing"
    SCRIPTS = "scripts"
    BEHAVIOUR = "behaviour"


class CaseOutcome(str, Enum):
    """Outcome of one case. A case that was not judged has neither passed nor failed."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    WARNED = "warned"
    NOT_JUDGED = "not-judged"
    SKIPPED = "skipped"


BAD = frozenset({CaseOutcome.FAILED, CaseOutcome.ERROR})
GOOD = frozenset({CaseOutcome.PASSED, CaseOutcome.WARNED})


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem and its location."""

    message: str
    path: str = ""
    line: int | None = None
    warning: bool = False

    def __str__(self) -> str:
        place = (
            f"{self.path}:{self.line}: " if self.path and self.line else f"{self.path}: " if self.path else ""
        )
        return f"{place}{self.message}"


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one case of one skill."""

    tier: Tier
    skill: str
    id: str
    outcome: CaseOutcome
    title: str = ""
    message: str = ""
    """One sentence on the actual result."""
    problems: tuple[Problem, ...] = ()
    suite: str = ""
    """The file that contains the case."""
    seconds: float = 0.0
    data: Mapping[str, object] = field(default_factory=lambda: EMPTY)
    """Data of the tier: scores and words, output, runs with and without the skill."""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Return the key that identifies the same case in other reports."""
        return self.tier.value, self.skill, self.suite.rsplit("/", 1)[-1], self.id

    @property
    def further_problems(self) -> list[str]:
        """Return the messages of the other problems, without duplicates and without the main message."""
        return [text for text in dict.fromkeys(map(str, self.problems)) if text != self.message]


@dataclass(frozen=True, slots=True)
class SkillUnderTest:
    """A skill in its tested state."""

    name: str
    path: str
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """All results of a test run."""

    results: tuple[Result, ...] = ()
    skills: tuple[SkillUnderTest, ...] = ()
    unreadable: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    metrics: Mapping[str, object] = field(default_factory=lambda: EMPTY)
    """Metrics by tier."""
    created: str = ""
    tool: str = ""

    def of(self, tier: Tier) -> tuple[Result, ...]:
        return tuple(result for result in self.results if result.tier is tier)

    @property
    def counts(self) -> dict[str, int]:
        counted = Counter(result.outcome for result in self.results)
        return {outcome.value: counted[outcome] for outcome in CaseOutcome}

    @property
    def pass_rate(self) -> float | None:
        """The share of judged results that passed, between 0 and 1; None if none was judged."""
        return pass_rate(self.results)

    @property
    def failed(self) -> bool:
        return any(result.outcome in BAD for result in self.results)

    @property
    def complete(self) -> bool:
        """Whether every case was run: no limit or interrupt ended the run early."""
        return all(result.outcome is not CaseOutcome.SKIPPED for result in self.of(Tier.BEHAVIOUR))

    def as_data(self) -> dict[str, object]:
        rounded = tuple(replace(one, seconds=round(one.seconds, 4)) for one in self.results)
        return {
            "format": FORMAT,
            "version": VERSION,
            "pass_rate": self.pass_rate,
            "counts": self.counts,
            **encode(replace(self, results=rounded)),
        }

    @classmethod
    def from_data(cls, data: object) -> "Report":
        """Load a report from its data; raises an error for a newer version."""
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise ConfigurationError("Not a report of `skillkit.evaluation`")
        version = data.get("version")
        if not isinstance(version, int) or version > VERSION:
            raise ConfigurationError(f"The report has version {version}; this program reads up to {VERSION}")
        try:
            return decode(cls, data, forgiving=True)
        except ShapeError as error:
            raise ConfigurationError(f"The report is damaged: {error}") from error


def pass_rate(results: Iterable[Result]) -> float | None:
    """Return the share of judged results that passed."""
    judged = [result for result in results if result.outcome in BAD | GOOD]
    if not judged:
        return None
    return round(sum(result.outcome in GOOD for result in judged) / len(judged), 4)


def merge(first: Report, second: Report) -> Report:
    """Merge two parts of one run."""
    skills = {skill.name: skill for skill in (*first.skills, *second.skills)}
    return replace(
        first,
        results=(*first.results, *second.results),
        skills=tuple(skills.values()),
        unreadable=tuple(dict.fromkeys((*first.unreadable, *second.unreadable))),
        notes=tuple(dict.fromkeys((*first.notes, *second.notes))),
        metrics={**first.metrics, **second.metrics},
    )
