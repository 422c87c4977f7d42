"""Holding the host's own tools to `allowed-tools` of the skills in use, for programs that want it.

A gate only ever takes away: what a skill names is as free as the host made it, what no skill in use names
asks first or is hidden, and nothing is granted.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from fnmatch import fnmatchcase

from skillkit.core.models import SkillMetadata
from skillkit.disclosure.session import SkillSession
from skillkit.disclosure.tool_result import ToolResult


class Admission(str, Enum):
    """Whether a tool of the host's own may be called at this moment."""

    FREE = "free"
    """As the host has it."""
    ASKS = "asks"
    """After the user has said yes to this call."""
    HIDDEN = "hidden"
    """Not at all; the model does not see it."""


class ToolGate:
    """Which tools of the host's own are free while skills that declare `allowed-tools` are in use.

    `outside` is what happens to the others. An entry with a pattern, such as `Bash(git:*)`, says something
    about arguments that only the tool itself can judge: such a tool asks. `names` are the host's words for
    the names that skills use: `{"Read": "read_file", "Bash": "shell"}`.
    """

    def __init__(
        self, outside: Admission | str = Admission.ASKS, *, names: Mapping[str, str] | None = None
    ) -> None:
        self.outside = Admission(outside)
        self._names = {name.casefold(): own for name, own in (names or {}).items()}

    def admit(self, tool: str, in_use: Iterable[SkillMetadata]) -> Admission:
        """Decide about one tool; several skills that declare tools are free to use what either names."""
        declaring = [skill for skill in in_use if skill.allowed_tools or skill.disallowed_tools]
        if any(self._covers(entry, tool) for skill in declaring for entry in skill.disallowed_tools):
            return self.outside
        allowed = [entry for skill in declaring for entry in skill.allowed_tools]
        covering = [entry for entry in allowed if self._covers(entry, tool)]
        if not allowed or any("(" not in entry for entry in covering):
            return Admission.FREE
        return Admission.ASKS if covering else self.outside

    def _covers(self, entry: str, tool: str) -> bool:
        name = entry.partition("(")[0].strip().casefold()
        return fnmatchcase(tool.casefold(), self._names.get(name, name).casefold())


def outside(tool: str, session: SkillSession) -> ToolResult:
    """The answer to a call of a tool that is hidden while the skills in use are."""
    skills = ", ".join(session.active_ids)
    message = f"{tool} is not among the tools of the skills in use ({skills})"
    return ToolResult.failure(tool, "permission_denied", message)
