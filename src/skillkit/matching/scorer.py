"""What every way of scoring offers."""

from collections.abc import Mapping
from typing import Protocol

from skillkit.core.models import SkillMetadata
from skillkit.matching.request import Request


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
