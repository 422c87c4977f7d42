"""Where in which conversation something happens, carried along with the call that causes it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple


class Place(NamedTuple):
    """A conversation and the number of the user's message in it."""

    conversation: str = ""
    turn: int = 0


NOWHERE = Place()
_PLACE: ContextVar[Place] = ContextVar("skillkit.core.place", default=NOWHERE)


def here() -> Place:
    """Return the place of the call that is running."""
    return _PLACE.get()


@contextmanager
def at(conversation: str, turn: int) -> Iterator[None]:
    """Give everything that is recorded inside a place, threads and tasks it starts included."""
    token = _PLACE.set(Place(conversation, turn))
    try:
        yield
    finally:
        _PLACE.reset(token)
