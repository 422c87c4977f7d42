"""Who is asking: the client behind a request, and which skills it is trusted with."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from skillkit.core.availability import Refusal, SkillPolicy
from skillkit.core.models import SkillMetadata
from skillkit.core.names import canonical_name

EVERYTHING = "*"

_current: ContextVar[str] = ContextVar("skillkit_mcp_client", default="")


@contextmanager
def serving(client: str) -> Iterator[None]:
    """What is asked within is asked by `client`."""
    token = _current.set(client)
    try:
        yield
    finally:
        _current.reset(token)


class PerClientPolicy:
    """Lets each client have its own skills: `{"editor": ["pdf"], "ci": ["*"]}`; others have none.

    A client is known by its token; without tokens by the name it gives itself, which is a convenience
    on a machine of one's own and no protection. `base` is asked first, whoever the client is.
    """

    def __init__(self, skills: Mapping[str, Collection[str]], base: SkillPolicy | None = None) -> None:
        self._skills = {
            client: frozenset(canonical_name(name) for name in names) for client, names in skills.items()
        }
        self._base = base

    def refusal(self, skill: SkillMetadata) -> Refusal | None:
        refused = self._base.refusal(skill) if self._base else None
        if refused is not None:
            return refused
        client = _current.get()
        allowed = self._skills.get(client, frozenset())
        if EVERYTHING in allowed or skill.canonical_name in allowed:
            return None
        return Refusal("untrusted", f"Skill '{skill.name}' is not trusted for the client '{client}'")
