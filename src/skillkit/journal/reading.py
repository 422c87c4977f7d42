"""Query the journal: filtered, newest first, in pages, while others write."""

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from skillkit.core.codec import encode
from skillkit.core.events import Event, Json, Kind
from skillkit.core.exceptions import StateFileError
from skillkit.core.foreign_json import parse_json
from skillkit.journal.sqlite import check_format, size_of

Answer = TypeVar("Answer")

PAGE = 100
_COLUMNS = "id, time, kind, conversation, turn, skill, digest, data"


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Selects events; empty fields match all."""

    kinds: tuple[Kind, ...] = ()
    skill: str = ""
    conversation: str = ""
    since: float = 0.0
    text: str = ""
    """Occurs somewhere in the data, the skill or the conversation."""

    def clause(self) -> tuple[str, list[object]]:
        """Return the condition in SQL with its values."""
        conditions = ["1"]
        values: list[object] = []
        if self.kinds:
            conditions.append(f"kind IN ({','.join('?' * len(self.kinds))})")
            values.extend(kind.value for kind in self.kinds)
        for column, value in (("skill", self.skill), ("conversation", self.conversation)):
            if value:
                conditions.append(f"{column} = ?")
                values.append(value)
        if self.since:
            conditions.append("time >= ?")
            values.append(self.since)
        if self.text:
            pattern = "%" + self.text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
            conditions.append(
                r"(data LIKE ? ESCAPE '\' OR skill LIKE ? ESCAPE '\' OR conversation LIKE ? ESCAPE '\')"
            )
            values.extend([pattern] * 3)
        return " AND ".join(conditions), values


ANYTHING = EventFilter()


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event with its id in the journal."""

    id: int
    event: Event

    def to_data(self) -> dict[str, Json]:
        """Return the event as data for a line of JSON."""
        time = datetime.fromtimestamp(self.event.time, UTC).isoformat(timespec="milliseconds")
        return {"id": self.id, "time": time, **encode(self.event, {"time"})}


@dataclass(frozen=True, slots=True)
class ConversationSummary:
    """A summary of the skill events of a conversation."""

    id: str
    first: float
    last: float
    turns: int
    events: int
    skills: tuple[str, ...]
    opening: str = ""
    """The first request, where texts are kept."""


@dataclass(frozen=True, slots=True)
class JournalStats:
    """Counts and sizes of the journal."""

    events: int
    bytes: int
    first: float | None
    last: float | None
    by_kind: dict[str, int]


class JournalReader:
    """Reads a journal without changing it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def events(
        self, wanted: EventFilter = ANYTHING, *, before: int | None = None, limit: int = PAGE
    ) -> list[StoredEvent]:
        """Return the newest events with an id below `before`; empty without a journal."""
        condition, values = wanted.clause()
        if before is not None:
            condition += " AND id < ?"
            values.append(before)
        return self._events(f"{condition} ORDER BY id DESC LIMIT ?", [*values, limit])

    def since(self, identity: int, limit: int = PAGE) -> list[StoredEvent]:
        """Return the events after `identity`, oldest first."""
        return self._events("id > ? ORDER BY id LIMIT ?", [identity, limit])

    def conversation(self, identity: str) -> list[StoredEvent]:
        """Return the events of one conversation, oldest first."""
        return self._events("conversation = ? ORDER BY id", [identity])

    def offer(self, digest: str) -> list[Event]:
        """Return the events with the skills offered to requests with this digest."""
        found = self._events(
            "kind = ? AND digest = ? ORDER BY id DESC LIMIT 1000", [Kind.OFFERED.value, digest]
        )
        return [stored.event for stored in found]

    def conversations(
        self, *, limit: int = PAGE, offset: int = 0, text: str = ""
    ) -> list[ConversationSummary]:
        """Return the conversations with `text` in an event, most recently active first."""
        condition, values = EventFilter(text=text).clause()
        # The index alone selects the page; only its conversations are read.
        order = (
            "WITH newest AS (SELECT conversation, max(id) AS latest FROM event WHERE conversation <> ''"
            f" AND {condition} GROUP BY conversation ORDER BY latest DESC LIMIT ? OFFSET ?)"
            " SELECT conversation, min(time), max(time), count(DISTINCT turn), count(*),"
            " group_concat(DISTINCT nullif(skill, '')),"
            " (SELECT CASE WHEN json_valid(data) THEN json_extract(data, '$.request.text') END"
            " FROM event AS asked WHERE asked.conversation = newest.conversation AND kind = 'matched'"
            " ORDER BY asked.id LIMIT 1)"
            " FROM newest JOIN event USING (conversation)"
            " GROUP BY conversation ORDER BY latest DESC"
        )
        return [
            ConversationSummary(
                name,
                first,
                last,
                turns,
                events,
                tuple(sorted(skills.split(","))) if skills else (),
                opening if isinstance(opening, str) else "",
            )
            for name, first, last, turns, events, skills, opening in self._rows(
                order, [*values, limit, offset]
            )
        ]

    def stats(self) -> JournalStats:
        """Return counts and sizes of the journal."""
        rows = self._rows("SELECT kind, count(*), min(time), max(time) FROM event GROUP BY kind", [])
        size = self._ask(size_of) if self.path.exists() else 0
        firsts, lasts = [row[2] for row in rows], [row[3] for row in rows]
        return JournalStats(
            sum(row[1] for row in rows),
            size,
            min(firsts, default=None),
            max(lasts, default=None),
            {row[0]: row[1] for row in rows},
        )

    def oldest_first(self, wanted: EventFilter = ANYTHING, after: int = 0) -> Iterator[StoredEvent]:
        """Yield every event after one, oldest first, with one page in memory at a time."""
        condition, values = wanted.clause()
        while page := self._events(f"{condition} AND id > ? ORDER BY id LIMIT 1000", [*values, after]):
            yield from page
            after = page[-1].id

    def export(self, wanted: EventFilter = ANYTHING) -> Iterator[str]:
        """Yield every event as a line of JSON, oldest first."""
        for stored in self.oldest_first(wanted):
            yield json.dumps(stored.to_data(), ensure_ascii=False)

    def _events(self, condition: str, values: Sequence[object]) -> list[StoredEvent]:
        rows = self._rows(f"SELECT {_COLUMNS} FROM event WHERE {condition}", values)
        return [_stored(row) for row in rows]

    def _rows(self, order: str, values: Sequence[object]) -> list[Any]:
        if not self.path.exists():
            return []
        return self._ask(lambda database: _rows_in(database, order, values))

    def _ask(self, question: Callable[[sqlite3.Connection], Answer]) -> Answer:
        if self.path.is_fifo():  # opening a FIFO blocks until there is a writer
            raise StateFileError(
                f"The journal {self.path} is not a plain file. Move it away to start a new one."
            )
        try:
            # Not `immutable`: a writer may be active, and its write-ahead log holds events too.
            with closing(sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True)) as database:
                check_format(database, self.path)
                return question(database)
        except sqlite3.Error as error:
            raise StateFileError(
                f"The journal {self.path} cannot be read: {error}. Move it away to start a new one."
            ) from error


def _rows_in(database: sqlite3.Connection, order: str, values: Sequence[object]) -> list[Any]:
    made = database.execute("SELECT count(*) FROM sqlite_master WHERE name = 'event'").fetchone()
    # A file without the table is a journal whose first writer has just opened it.
    return database.execute(order, tuple(values)).fetchall() if made[0] else []


def _stored(row: tuple[int, float, str, str, int, str, str, str]) -> StoredEvent:
    identity, time, kind, conversation, turn, skill, digest, data = row
    return StoredEvent(identity, Event(Kind(kind), skill, digest, _data(data), conversation, turn, time))


def _data(text: str) -> dict[str, Json]:
    """Return the data of an event as a mapping, even if it was edited by hand."""
    try:
        data = parse_json(text)
    except ValueError:
        return {"unreadable": text}
    return data if isinstance(data, dict) else {"value": data}
