"""Narrower choices: what a small model needs so that it does not invent names."""

from dataclasses import replace

from skillkit.core.events import Kind
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.manager import SkillManager
from skillkit.disclosure import SkillSession, Tool
from skillkit.disclosure.tools_of_use import ToolsOfUse, skills_in_use
from skillkit.scripts.catalogue import find_script

JSON = "json"
_JSON_OPTION = b"--json"
_CODE = ("scripts/", "toolsets/")


class SmallModelTools(ToolsOfUse):
    """The tools of use, where what is to be named is chosen from what there is (`Tool.valid_choices`).

    Files are read only where a skill has files to read, and whether a script prints JSON is seen in its
    source instead of guessed.
    """

    def wrap(self, tool: Tool, session: SkillSession) -> Tool | None:
        useful = super().wrap(tool, session)
        skills = skills_in_use(self.manager, session)
        if useful is not None and useful.event is Kind.READ:
            return useful if any(self._has_texts(skill.name) for skill in skills) else None
        if useful is None or useful.valid_choices is None:
            return useful
        choices = useful.valid_choices(skills or self.manager.offered_skills())
        return _choosing_json(useful.with_choices(**choices), self.manager)

    def _has_texts(self, skill: str) -> bool:
        return any(not found.path.startswith(_CODE) for found in self.manager.list_resources(skill))


def _choosing_json(run: Tool, manager: SkillManager) -> Tool:
    """Return a tool that runs scripts without the argument that says whether a script prints JSON."""

    async def handler(skill_id: str = "", script_name: str = "", **given: object) -> object:
        given.setdefault(JSON, _prints_json(manager, skill_id, script_name))
        return await run.handler(skill_id=skill_id, script_name=script_name, **given)

    listed = run.parameters.get("properties")
    properties = dict(listed) if isinstance(listed, dict) else {}
    hidden = properties.pop(JSON, {})
    return replace(
        run,
        parameters={**run.parameters, "properties": properties},
        handler=handler,
        unlisted={**run.unlisted, JSON: hidden},
    )


def _prints_json(manager: SkillManager, skill_id: str, script_name: str) -> bool:
    try:
        script = find_script(manager.get_skill(skill_id), script_name)
        return script is None or _JSON_OPTION in script.path.read_bytes()
    except (SkillsUseError, ValueError, OSError):
        return True  # the run itself says what is wrong
