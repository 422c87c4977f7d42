"""Narrower choices: what a small model needs so that it does not invent names."""

from dataclasses import replace

from skillkit.core.events import Kind
from skillkit.disclosure import SkillSession, Tool
from skillkit.disclosure.tools_of_use import ToolsOfUse, skills_in_use

JSON = "json"
_CODE = ("scripts/", "toolsets/")


class SmallModelTools(ToolsOfUse):
    """The tools of use, where what is to be named is chosen from what there is (`Tool.valid_choices`).

    Files are read only where a skill has files to read, and a script that has `--json` is given it.
    """

    def wrap(self, tool: Tool, session: SkillSession) -> Tool | None:
        useful = super().wrap(tool, session)
        skills = skills_in_use(self.manager, session)
        if useful is not None and useful.event is Kind.READ:
            return useful if any(self._has_texts(skill.name) for skill in skills) else None
        if useful is None or useful.valid_choices is None:
            return useful
        choices = useful.valid_choices(skills or self.manager.offered_skills())
        return _without_json(useful.with_choices(**choices))

    def _has_texts(self, skill: str) -> bool:
        return any(not found.path.startswith(_CODE) for found in self.manager.list_resources(skill))


def _without_json(run: Tool) -> Tool:
    """Return a tool that runs scripts without listing the argument that asks for JSON."""
    listed = run.parameters.get("properties")
    properties = dict(listed) if isinstance(listed, dict) else {}
    hidden = properties.pop(JSON, {})
    return replace(
        run,
        parameters={**run.parameters, "properties": properties},
        unlisted={**run.unlisted, JSON: hidden},
    )
