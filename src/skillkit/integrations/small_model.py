"""Narrower choices: what a small model needs so that it does not invent names."""

from skillkit.disclosure import SkillSession, Tool
from skillkit.disclosure.tools_of_use import ToolsOfUse
from skillkit.scripts import find_scripts
from skillkit.scripts.tools import SCRIPT_RUN


class SmallModelTools(ToolsOfUse):
    """The tools of use, where a script to run can only be one that there is.

    A name that is wrong may still be asked about with `script_help`, which answers with the right ones.
    """

    def wrap(self, tool: Tool, session: SkillSession) -> Tool | None:
        useful = super().wrap(tool, session)
        if useful is None or useful.name != SCRIPT_RUN:
            return useful
        skills = self.in_use(session) or self.manager.offered_skills()
        scripts = {skill.name: [script.name for script in find_scripts(skill)] for skill in skills}
        return useful.with_choices(
            skill_name=[skill for skill, names in scripts.items() if names],
            script_name=sorted({name for names in scripts.values() for name in names}),
        )
