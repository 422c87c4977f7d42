"""An event: one thing that happened to a skill, as plain data, and the turn that it belongs to."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Protocol

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


def entries_of(found: Json) -> list[dict[str, Json]]:
    """Return the objects of a list in an event; other writers may have put anything there."""
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


class Kind(StrEnum):
    """What can happen. The values are stored: add, never rename."""

    OFFERED = "offered"
    """The skills on offer, and why the others are not; requests refer to it by its digest."""
    MATCHED = "matched"
    """A request was compared with the skills."""
    ACTIVATED = "activated"
    """A skill came into use in a conversation."""
    LOADED = "loaded"
    """The model asked for the instructions of a skill."""
    READ = "read"
    """The model read a file of a skill."""
    SCRIPT_ASKED = "script_asked"
    SCRIPT_GRANTED = "script_granted"
    """The user approved something."""
    SCRIPT_DENIED = "script_denied"
    SCRIPT_RUN = "script_run"
    TOOLSET_CALLED = "toolset_called"
    REFUSED = "refused"
    """A use of a skill was refused."""
    TOKENS = "tokens"
    """The parts of one request to a model."""
    MODEL_CALLED = "model_called"
    """A model answered: tokens sent by part, as far as counted, and tokens received."""
    CONSENTED = "consented"
    INSTALLED = "installed"
    UPDATED = "updated"
    REMOVED = "removed"
    TESTED = "tested"
    LOST = "lost"
    """Events that could not be written; `data.count` says how many."""
    UNKNOWN = "unknown"
    """Written by a newer skillkit or by a third-party program."""

    @classmethod
    def _missing_(cls, value: object) -> "Kind":
        return cls.UNKNOWN


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened, and to whom."""

    kind: Kind
    skill: str = ""
    """The id of the skill; empty where the event is about a request as a whole."""
    digest: str = ""
    """Of the skill's text or tree, whichever the event is about."""
    data: Mapping[str, Json] = field(default_factory=dict)
    conversation: str = ""
    turn: int = 0
    time: float = field(default_factory=time.time)
    """Seconds since 1970."""


class Writer(Protocol):
    """Receives events. Neither call raises, waits for a disk or blocks an event loop."""

    def record(self, event: Event) -> None:
        """Keep an event; its place in a conversation is filled in where it has none."""

    def close(self) -> None:
        """Write what is waiting and stop."""


class NoJournal:
    """Discards events; the default of a manager."""

    def record(self, event: Event) -> None:
        return

    def close(self) -> None:
        return


NO_JOURNAL = NoJournal()


class ConversationTurn(NamedTuple):
    """A conversation and the number of the user's message in it."""

    conversation: str = ""
    turn: int = 0


NO_TURN = ConversationTurn()
_current: ContextVar[ConversationTurn] = ContextVar("skillkit.core.events", default=NO_TURN)


def current_turn() -> ConversationTurn:
    """Return the current turn."""
    return _current.get()


@contextmanager
def in_turn(conversation: str, turn: int) -> Iterator[None]:
    """Attribute everything recorded in the block to a turn, threads and tasks it starts included."""
    token = _current.set(ConversationTurn(conversation, turn))
    try:
        yield
    finally:
        _current.reset(token)
