"""In which turn of which conversation something happens, carried along with the call that causes it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple


class ConversationTurn(NamedTuple):
    """A conversation and the number of the user's message in it."""

    conversation: str = ""
    turn: int = 0


NO_TURN = ConversationTurn()
_current: ContextVar[ConversationTurn] = ContextVar("skillkit.core.turn", default=NO_TURN)


def current_turn() -> ConversationTurn:
    """Return the turn of the call that is running."""
    return _current.get()


@contextmanager
def in_turn(conversation: str, turn: int) -> Iterator[None]:
    """Let everything that is recorded inside belong to a turn, threads and tasks it starts included."""
    token = _current.set(ConversationTurn(conversation, turn))
    try:
        yield
    finally:
        _current.reset(token)
