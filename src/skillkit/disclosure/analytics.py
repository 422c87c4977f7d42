"""How well matching does over time: what it put in, and what the model had to load by itself."""

import json
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any

from skillkit.core.events import Event, Kind
from skillkit.disclosure.session import Origin

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MatchRecord:
    """One request. What the user wrote is not in it, nor anything it could be guessed from."""

    matched: tuple[tuple[str, float], ...]
    """Ids and scores of the skills whose text was put in."""
    left_out: tuple[str, ...]
    """Matched too, but beyond the limit."""
    characters: int
    """The length of the request."""

    def to_json(self) -> str:
        """One line for a log file."""
        return json.dumps(
            {
                "matched": [{"id": skill, "score": score} for skill, score in self.matched],
                "left_out": list(self.left_out),
                "characters": self.characters,
            }
        )


@dataclass(frozen=True, slots=True)
class SkillMatches:
    """The history of one skill."""

    matched: int
    """Requests that it matched."""
    missed: int
    """Times the model loaded it although it had not matched."""

    @property
    def found(self) -> float | None:
        """The share of uses that matching foresaw; None before the first."""
        uses = self.matched + self.missed
        return self.matched / uses if uses else None


class MatchAnalytics:
    """A view of the events that counts in memory; `sink` receives every record for whoever keeps them."""

    def __init__(self, sink: Callable[[MatchRecord], object] | None = None) -> None:
        self.requests = 0
        self._sink = sink
        self._matched: Counter[str] = Counter()
        self._missed: Counter[str] = Counter()
        self._lock = Lock()

    def record(self, event: Event) -> None:
        """Count a request that was matched, or a skill that the model had to load by itself."""
        if event.kind is Kind.MATCHED:
            self._matched_request(event)
        elif event.kind is Kind.ACTIVATED and event.data.get("origin") == Origin.LOADED.value:
            with self._lock:
                self._missed[event.skill] += 1
            logger.info("Skill loaded without a match: %s", event.skill)

    def close(self) -> None:
        """Nothing waits to be written."""

    def _matched_request(self, event: Event) -> None:
        data: dict[str, Any] = dict(event.data)
        record = MatchRecord(
            matched=tuple((match["id"], match["score"]) for match in data["matched"]),
            left_out=tuple(match["id"] for match in data["left_out"]),
            characters=data["request"]["length"],
        )
        with self._lock:
            self.requests += 1
            self._matched.update(skill for skill, _ in record.matched)
        if logger.isEnabledFor(logging.INFO):
            logger.info("Skill match: %s", record.to_json())
        if self._sink is not None:
            self._sink(record)

    def report(self) -> dict[str, SkillMatches]:
        """Every skill that was matched or loaded."""
        with self._lock:
            return {
                skill: SkillMatches(self._matched[skill], self._missed[skill])
                for skill in sorted(self._matched.keys() | self._missed.keys())
            }
