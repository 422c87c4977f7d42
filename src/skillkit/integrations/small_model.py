"""Narrower choices: what a small model needs so that it does not invent names."""

from skillkit.disclosure import SkillSession, Tool
from skillkit.disclosure.tools_of_use import ToolsOfUse


class SmallModelTools(ToolsOfUse):
    """The tools of use, where what is to be named is chosen from what there is (`Tool.valid_choices`)."""

    def wrap(self, tool: Tool, session: SkillSession) -> Tool | None:
        useful = super().wrap(tool, session)
        if useful is None or useful.valid_choices is None:
            return useful
        skills = self.in_use(session) or self.manager.offered_skills()
        return useful.with_choices(**useful.valid_choices(skills))
