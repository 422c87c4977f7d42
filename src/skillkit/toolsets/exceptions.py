"""What can go wrong with a toolset before it is a toolset."""

from skillkit.core.exceptions import SkillsUseError


class ToolsetError(SkillsUseError):
    """A toolset that a skill names cannot be used; the message says which, whose, and what to do."""

    def __init__(self, message: str, skill_name: str, toolset: str) -> None:
        super().__init__(message)
        self.skill_name = skill_name
        self.toolset = toolset
