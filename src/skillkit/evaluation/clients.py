"""Support of header fields by client."""

from collections.abc import Iterable
from dataclasses import dataclass
from types import MappingProxyType

_SPECIFIED = frozenset({"name", "description", "license", "compatibility", "metadata", "allowed-tools"})
_CLAUDE_CODE = frozenset(
    "name description when_to_use argument-hint arguments disable-model-invocation user-invocable "
    "allowed-tools disallowed-tools model effort context agent background hooks paths shell".split()
)


@dataclass(frozen=True, slots=True)
class ClientRules:
    """The header fields that one client of skills reads."""

    title: str
    """The name of its verdict."""
    acts_on: frozenset[str]
    accepts: frozenset[str]
    """Fields that it accepts and ignores."""
    refuses_others: bool = False

    def treatment(self, field: str) -> str:
        """Return how the client treats a field."""
        if field in self.acts_on:
            return "used"
        if field in self.accepts or not self.refuses_others:
            return "ignored"
        return "refused"


CLIENTS = MappingProxyType(
    {
        "spec": ClientRules("Agent Skills specification", _SPECIFIED, frozenset(), refuses_others=True),
        "claude.ai": ClientRules("claude.ai upload", _SPECIFIED, frozenset(), refuses_others=True),
        "claude-code": ClientRules("Claude Code", _CLAUDE_CODE, _SPECIFIED),
        "codex": ClientRules("Codex", frozenset({"name", "description", "metadata"}), frozenset()),
    }
)
"""Rules by the argument of `--for`."""


def treatments(client: str, fields: Iterable[str]) -> dict[str, str]:
    """Return how one client treats each field: used, ignored or refused."""
    return {field: CLIENTS[client].treatment(field) for field in fields}
