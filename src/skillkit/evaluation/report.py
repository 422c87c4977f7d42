"""What a test run found, as plain data with a versioned JSON form."""

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
    """What is tested, cheapest first."""

    STATIC = "static"
    ROUTING = "routing"
    SCRIPTS = "scripts"
    BEHAVIOUR = "behaviour"


class CaseOutcome(str, Enum):
    """How one case ended. What nobody could judge is neither passed nor failed."""

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
    """One thing that is wrong, and where."""

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
    """One case of one skill."""

    tier: Tier
    skill: str
    id: str
    outcome: CaseOutcome
    title: str = ""
    message: str = ""
    """One sentence: what happened instead."""
    problems: tuple[Problem, ...] = ()
    suite: str = ""
    """The file that the case is written in."""
    seconds: float = 0.0
    data: Mapping[str, object] = field(default_factory=lambda: EMPTY)
    """What belongs to the tier: scores and words, output, runs with and without the skill."""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What the same case has in another report."""
        return self.tier.value, self.skill, self.suite.rsplit("/", 1)[-1], self.id

    @property
    def further_problems(self) -> list[str]:
        """The problems in words, each once, without one that is the message already."""
        return [text for text in dict.fromkeys(map(str, self.problems)) if text != self.message]


@dataclass(frozen=True, slots=True)
class SkillUnderTest:
    """A skill as it was when it was tested."""

    name: str
    path: str
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """Everything a run found."""

    results: tuple[Result, ...] = ()
    skills: tuple[SkillUnderTest, ...] = ()
    unreadable: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    metrics: Mapping[str, object] = field(default_factory=lambda: EMPTY)
    """By tier."""
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
        """Passed of what was judged, between 0 and 1; None when nothing was."""
        return pass_rate(self.results)

    @property
    def failed(self) -> bool:
        return any(result.outcome in BAD for result in self.results)

    @property
    def complete(self) -> bool:
        """Whether no limit and nobody ended the run before every case was asked of the model."""
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
        """A report that was written earlier; one of a newer version is refused."""
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise ConfigurationError("This is no report of `skillkit.evaluation`")
        version = data.get("version")
        if not isinstance(version, int) or version > VERSION:
            raise ConfigurationError(f"The report has version {version}; this program reads up to {VERSION}")
        try:
            return decode(cls, data, forgiving=True)
        except ShapeError as error:
            raise ConfigurationError(f"The report is damaged: {error}") from error


def pass_rate(results: Iterable[Result]) -> float | None:
    """The share of judged results that are good."""
    judged = [result for result in results if result.outcome in BAD | GOOD]
    if not judged:
        return None
    return round(sum(result.outcome in GOOD for result in judged) / len(judged), 4)


def merge(first: Report, second: Report) -> Report:
    """Two parts of one run."""
    skills = {skill.name: skill for skill in (*first.skills, *second.skills)}
    return replace(
        first,
        results=(*first.results, *second.results),
        skills=tuple(skills.values()),
        unreadable=tuple(dict.fromkeys((*first.unreadable, *second.unreadable))),
        notes=tuple(dict.fromkeys((*first.notes, *second.notes))),
        metrics={**first.metrics, **second.metrics},
    )
