"""Visibility: the one place that decides who sees a version, in every dialect, page, count and error."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from skillkit.registry.exceptions import BlockedError, MissingError

READ, PUBLISH, REVIEW, PATH = "read", "publish", "review", "path"
SCOPES = (READ, PUBLISH, REVIEW, PATH)
"""`path` reads as a part of the address, for clients that send no credential."""


class State(str, Enum):
    """The state of a version."""

    HELD = "held"
    REFUSED = "refused"
    PUBLISHED = "published"
    YANKED = "yanked"
    BLOCKED = "blocked"


NOT_HANDED_OUT = (State.REFUSED, State.BLOCKED)
"""States in which nobody gets the bytes."""


class Purpose(Enum):
    """Why somebody reads a version."""

    LIST = "find it in a list, or as the latest"
    SEE = "see its facts"
    FETCH = "have its bytes"


@dataclass(frozen=True, slots=True)
class Grant:
    """What a token allows, for one owner or, where that is None, for all."""

    scope: str
    owner: int | None = None


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request."""

    user: str = ""
    """Empty for an anonymous caller."""
    grants: tuple[Grant, ...] = ()
    token: int | None = None
    """The id of the token that was sent."""
    address: str = ""

    def has(self, scope: str, owner: int | None = None) -> bool:
        """Return whether a grant of this scope covers the owner, or all owners if None."""
        return any(one.scope == scope and one.owner in (None, owner) for one in self.grants)

    @property
    def publishes(self) -> tuple[int, ...]:
        """The owners named by its publish grants."""
        return tuple(one.owner for one in self.grants if one.scope == PUBLISH and one.owner is not None)


ANYBODY = Caller()
OPERATOR = Caller("operator", tuple(Grant(scope) for scope in SCOPES))
"""Whoever may run commands on the server's machine."""


@dataclass(frozen=True, slots=True)
class Visibility:
    """The rules of one server."""

    private: bool = False
    """Every read needs a token."""

    def reads(self, caller: Caller, owner: int, owner_private: bool) -> bool:
        """Return whether the caller may read the published versions of an owner."""
        if not (self.private or owner_private):
            return True
        return any(one.owner in (None, owner) for one in caller.grants)

    def check(
        self, caller: Caller, owner: int, state: State, purpose: Purpose, *, owner_private: bool, reason: str
    ) -> None:
        """Raise MissingError, or BlockedError, unless the caller may do this with a version."""
        reads = self.reads(caller, owner, owner_private)
        reviews = caller.has(REVIEW, owner)
        knows = reviews or caller.has(PUBLISH, owner)
        if state is State.BLOCKED and purpose is not Purpose.LIST and reads:
            if purpose is Purpose.SEE and reviews:
                return
            raise BlockedError(f"This version was blocked: {reason}")
        allowed = {
            State.HELD: purpose is not Purpose.LIST and knows,
            State.REFUSED: purpose is Purpose.SEE and knows,
            State.PUBLISHED: reads,
            State.YANKED: (purpose is Purpose.FETCH and reads) or (purpose is Purpose.SEE and knows),
            State.BLOCKED: False,
        }
        if not allowed[state]:
            raise MissingError

    def condition(self, caller: Caller) -> tuple[str, Sequence[object]]:
        """Return `reads` as a condition of SQL on the table `owner`, with its values."""
        if any(one.owner is None for one in caller.grants):
            return "1 = 1", ()
        named = sorted({one.owner for one in caller.grants if one.owner is not None})
        own = f"owner.id IN ({', '.join('?' for _ in named)})" if named else "1 = 0"
        return (own if self.private else f"owner.private = 0 OR {own}"), named
