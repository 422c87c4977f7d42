"""What each client does with each field of a header."""

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
    """A program that reads skills."""

    title: str
    """What its verdict is called."""
    acts_on: frozenset[str]
    accepts: frozenset[str]
    """Known to it and without effect."""
    refuses_others: bool = False

    def treatment(self, field: str) -> str:
        """Return what becomes of a field."""
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
"""By the word for `--for`."""


def treatments(client: str, fields: Iterable[str]) -> dict[str, str]:
    """Return what one client does with each field: used, ignored or refused."""
    return {field: CLIENTS[client].treatment(field) for field in fields}
