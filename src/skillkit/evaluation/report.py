"""Report of a test run, as plain data with a versioned JSON form, and its comparison with another."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from skillkit.core.codec import ShapeError, decode, encode
from skillkit.core.exceptions import ConfigurationError

FORMAT = "skillkit.evaluation"
VERSION = 1
_MEASURED_DROP = 0.02
"""The tolerated decrease of a rate: less than one case in fifty."""


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


def headline(problems: Sequence[Problem]) -> str:
    """Return the first problem, failures before warnings, and the number of the others."""
    first = min(problems, key=lambda problem: problem.warning)
    return f"{first} (and {len(problems) - 1} more)" if len(problems) > 1 else str(first)


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
    data: Mapping[str, object] = field(default_factory=dict)
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
    metrics: Mapping[str, object] = field(default_factory=dict)
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


@dataclass(frozen=True, slots=True)
class Comparison:
    """The difference between an earlier report and this one."""

    worse: tuple[Result, ...]
    better: tuple[Result, ...]
    new: tuple[Result, ...]
    gone: tuple[Result, ...]
    dropped: tuple[str, ...]
    """Descriptions of the metrics that decreased."""

    @property
    def is_worse(self) -> bool:
        return bool(self.worse or self.dropped)

    def as_data(self) -> dict[str, object]:
        lists = {"worse": self.worse, "better": self.better, "new": self.new, "gone": self.gone}
        named = {
            word: ["/".join(part for part in result.key if part) for result in results]
            for word, results in lists.items()
        }
        return {**named, "dropped": list(self.dropped)}


def compare(earlier: Report, now: Report) -> Comparison:
    """Return the changes from `earlier` to `now`; a case that already failed before is not a regression."""
    before = {result.key: result for result in earlier.results}
    after = {result.key: result for result in now.results}
    both = [(before[key], result) for key, result in after.items() if key in before]
    return Comparison(
        tuple(new for old, new in both if old.outcome in GOOD and new.outcome in BAD),
        tuple(new for old, new in both if old.outcome in BAD and new.outcome in GOOD),
        tuple(result for key, result in after.items() if key not in before),
        tuple(result for key, result in before.items() if key not in after),
        tuple(_dropped(earlier.metrics, now.metrics)),
    )


def _dropped(before: Mapping[str, object], after: Mapping[str, object]) -> list[str]:
    found = []
    for tier, measures in after.items():
        earlier = before.get(tier)
        if not isinstance(measures, Mapping) or not isinstance(earlier, Mapping):
            continue
        for name in ("precision", "recall", "with_skill", "delta"):
            old, new = earlier.get(name), measures.get(name)
            if isinstance(old, float) and isinstance(new, float) and old - new > _MEASURED_DROP:
                found.append(f"{tier} {name} fell from {old:.3f} to {new:.3f}")
    return found
