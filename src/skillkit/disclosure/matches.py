"""Asking which skills fit a request, once for each request."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from threading import RLock
from typing import Protocol

from skillkit.core.models import SkillMetadata
from skillkit.matching import Match

REMEMBERED = 256
LONGEST_REMEMBERED = 8192


class Matcher(Protocol):
    """What disclosure needs of `skillkit.matching.SkillMatcher`, or of another engine in its place."""

    def update(self, skills: Iterable[SkillMetadata]) -> None:
        """Make the library exactly these skills."""

    def match(self, request: str, limit: int | None = None) -> Sequence[Match]:
        """The skills that fit, best first; empty when none does."""

    def rank(self, request: str, limit: int = 10) -> Sequence[Match]:
        """The nearest skills, whether or not they are near enough to match."""


class RememberingMatcher:
    """A matcher that answers a repeated request from memory until the library changes."""

    def __init__(self, matcher: Matcher, size: int = REMEMBERED) -> None:
        self.matcher = matcher
        self.size = size
        self.hits = 0
        self.misses = 0
        self._known: OrderedDict[tuple[str, str, int | None], tuple[Match, ...]] = OrderedDict()
        self._generation = 0
        self._lock = RLock()

    def update(self, skills: Iterable[SkillMetadata]) -> None:
        self.matcher.update(skills)
        with self._lock:
            self._generation += 1
            self._known.clear()

    def match(self, request: str, limit: int | None = None) -> Sequence[Match]:
        return self._remembered(("match", request, limit), lambda: self.matcher.match(request, limit))

    def rank(self, request: str, limit: int = 10) -> Sequence[Match]:
        return self._remembered(("rank", request, limit), lambda: self.matcher.rank(request, limit))

    @property
    def line(self) -> float | None:
        """The score from which a skill counts as matched, where the engine has one."""
        line = getattr(self.matcher, "threshold", None)
        return line if isinstance(line, float) else None

    def prepare(self) -> None:
        """Let an engine that has something to prepare do it now."""
        prepare = getattr(self.matcher, "prepare", None)
        if prepare is not None:
            prepare()

    def _remembered(
        self, question: tuple[str, str, int | None], ask: Callable[[], Sequence[Match]]
    ) -> tuple[Match, ...]:
        with self._lock:
            generation = self._generation
            if (known := self._known.get(question)) is not None:
                self.hits += 1
                self._known.move_to_end(question)
                return known
            self.misses += 1
        answer = tuple(ask())
        with self._lock:
            # An answer about a library that has changed meanwhile is not worth remembering.
            if generation == self._generation and len(question[1]) <= LONGEST_REMEMBERED:
                self._known[question] = answer
                while len(self._known) > self.size:
                    self._known.popitem(last=False)
        return answer
