"""Restrict the host's tools to `allowed-tools` of the active skills, for programs that opt in.

A gate only restricts: tools that an active skill declares stay as free as the host made them, all others need
approval or are hidden, and nothing is granted.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from fnmatch import fnmatchcase

from skillkit.core.models import SkillMetadata
from skillkit.disclosure.session import SkillSession
from skillkit.disclosure.tool_result import ToolResult


class Admission(str, Enum):
    """Whether a host tool may be called at this moment."""

    FREE = "free"
    """As the host configured it."""
    ASKS = "asks"
    """After the user has approved the call."""
    HIDDEN = "hidden"
    """Never; the model does not see the tool."""


class ToolGate:
    """Admits host tools while skills that declare `allowed-tools` are active.

    `outside` is the admission of undeclared tools. An entry with a pattern, such as `Bash(git:*)`, restricts
    arguments that only the tool itself can check: such a tool needs approval. `names` maps the names that
    skills use to the host's: `{"Read": "read_file", "Bash": "shell"}`.
    """

    def __init__(
        self, outside: Admission | str = Admission.ASKS, *, names: Mapping[str, str] | None = None
    ) -> None:
        self.outside = Admission(outside)
        self._names = {name.casefold(): own for name, own in (names or {}).items()}

    def admit(self, tool: str, in_use: Iterable[SkillMetadata]) -> Admission:
        """Return the admission of one tool; a declaration of any active skill is enough."""
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
    """Return the error for a call of a tool that is hidden by the active skills."""
    skills = ", ".join(session.active_ids)
    message = f"{tool} is not among the tools of the skills in use ({skills})"
    return ToolResult.failure(tool, "permission_denied", message)
