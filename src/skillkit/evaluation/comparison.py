"""Comparison of two reports of the same tests."""

from collections.abc import Mapping
from dataclasses import dataclass

from skillkit.evaluation.report import BAD, GOOD, Report, Result

_MEASURED_DROP = 0.02
"""The tolerated decrease of a rate: less than one case in fifty."""


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
