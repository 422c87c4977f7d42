"""Count skill usage from the journal, one row per skill."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from skillkit.core.codec import encode
from skillkit.core.events import Event, Json, Kind, entries_of
from skillkit.journal.reading import EventFilter, JournalReader

ALWAYS_BEATEN_FROM = 3
"""Requests in which a skill was near and the same other skill was taken, before it is worth a word."""


@dataclass(slots=True)
class SkillUsage:
    """Usage counts of one skill."""

    skill: str
    matched: int = 0
    loaded: int = 0
    read: int = 0
    run: int = 0
    failed: int = 0
    called: int = 0
    tokens: int = 0
    """Tokens of its instructions, summed over activations."""
    last: float | None = None
    missed: int = 0
    """Loaded by the model or the user although no request had matched it in that turn."""
    beaten_by: Counter[str] = field(default_factory=Counter)
    near: int = 0
    """Requests in which it was named among the nearest and not taken."""

    @property
    def uses(self) -> int:
        return self.matched + self.loaded + self.read + self.run + self.called

    @property
    def never_used(self) -> bool:
        return not self.uses

    @property
    def always_beaten_by(self) -> str | None:
        """Return the skill that was used every time this one only came near."""
        if not self.matched and self.near >= ALWAYS_BEATEN_FROM and self.beaten_by:
            [(winner, count)] = self.beaten_by.most_common(1)
            return winner if count == self.near else None
        return None

    def to_data(self) -> dict[str, Json]:
        said = {"never_used": self.never_used, "always_beaten_by": self.always_beaten_by}
        return {**encode(self, {"beaten_by", "near"}), **said}


class UsageCounter:
    """Counts events, passed oldest first."""

    def __init__(self, skills: Iterable[str] = ()) -> None:
        self.by_skill: dict[str, SkillUsage] = {name: SkillUsage(name) for name in skills}
        self._matched_in_turn: dict[tuple[str, int], set[str]] = defaultdict(set)

    def add(self, event: Event) -> None:
        turn = (event.conversation, event.turn)
        if event.kind is Kind.MATCHED:
            self._matched_in_turn[turn].update(self._add_match(event))
        elif event.skill:
            matched = event.skill in self._matched_in_turn.get(turn, ())
            _count(self._row(event.skill), event, matched=matched)

    def _add_match(self, event: Event) -> list[str]:
        taken = _ids(event.data.get("matched"))
        for skill in taken:
            row = self._row(skill)
            row.matched += 1
            row.last = event.time
        for skill in (near for near in _ids(event.data.get("near")) if taken):
            row = self._row(skill)
            row.near += 1
            row.beaten_by[taken[0]] += 1
        return taken

    def _row(self, skill: str) -> SkillUsage:
        return self.by_skill.setdefault(skill, SkillUsage(skill))

    @property
    def rows(self) -> list[SkillUsage]:
        """Return a row for every skill that was queried or named by an event, most used first."""
        return sorted(self.by_skill.values(), key=lambda row: (-row.uses, row.skill))


def usage_in(reader: JournalReader, skills: Iterable[str] = (), since: float = 0.0) -> list[SkillUsage]:
    """Return a row for each of `skills` and for others in the journal, most used first."""
    return usage_of((stored.event for stored in reader.oldest_first(EventFilter(since=since))), skills)


def usage_of(events: Iterable[Event], skills: Iterable[str] = ()) -> list[SkillUsage]:
    """Count events, passed oldest first."""
    counter = UsageCounter(skills)
    for event in events:
        counter.add(event)
    return counter.rows


def _count(row: SkillUsage, event: Event, *, matched: bool) -> None:
    match event.kind:
        case Kind.ACTIVATED:
            tokens = event.data.get("tokens")
            row.tokens += tokens if isinstance(tokens, int) else 0
        case Kind.LOADED:
            row.loaded += 1
            row.missed += not matched
        case Kind.READ:
            row.read += 1
        case Kind.SCRIPT_RUN:
            row.run += 1
            row.failed += bool(event.data.get("error"))
        case Kind.TOOLSET_CALLED:
            row.called += 1
            row.failed += bool(event.data.get("failed"))
        case _:
            return
    row.last = event.time


def _ids(found: Json) -> list[str]:
    """Return the ids in `[{"id": …}, …]`."""
    return [name for entry in entries_of(found) if isinstance(name := entry.get("id"), str)]
