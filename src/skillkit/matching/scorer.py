"""What every way of scoring offers, and the sum of several."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from skillkit.core.models import SkillMetadata
from skillkit.matching.request import Request
from skillkit.matching.weights import Calibration


class Scorer(Protocol):
    """Scores skills, which it knows by number, for a request."""

    def add(self, key: int, skill: SkillMetadata) -> None: ...

    def remove(self, key: int) -> None: ...

    def prepare(self) -> None:
        """Do now what the next request would have to wait for."""
        ...

    def scores(self, request: Request) -> Mapping[int, float]:
        """A raw score, larger is better, for every skill that has any."""
        ...

    def reasons(self, request: Request, key: int) -> tuple[str, ...]:
        """Why this skill has its score, for a person."""
        ...


@dataclass(frozen=True, slots=True)
class Fusion:
    """Scores added up, never ranks: a rank says nothing about whether anything fits at all."""

    parts: tuple[tuple[Scorer, float], ...]
    calibration: Calibration

    def add(self, key: int, skill: SkillMetadata) -> None:
        for scorer, _ in self.parts:
            scorer.add(key, skill)

    def remove(self, key: int) -> None:
        for scorer, _ in self.parts:
            scorer.remove(key)

    def prepare(self) -> None:
        for scorer, _ in self.parts:
            scorer.prepare()

    def scores(self, request: Request) -> Mapping[int, float]:
        total: dict[int, float] = {}
        for scorer, share in self.parts:
            for key, value in scorer.scores(request).items():
                total[key] = total.get(key, 0.0) + share * value
        return total

    def reasons(self, request: Request, key: int) -> tuple[str, ...]:
        return tuple(reason for scorer, _ in self.parts for reason in scorer.reasons(request, key))
