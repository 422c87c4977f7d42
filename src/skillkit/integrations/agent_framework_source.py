"""Our catalogue as a source of Agent Framework's own `SkillsProvider`."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from agent_framework import Skill as FrameworkSkill
from agent_framework import SkillFrontmatter, SkillResource, SkillScript, SkillsSource
from agent_framework import SkillsSourceContext as Context

from skillkit.core.manager import SkillManager
from skillkit.core.models import SkillMetadata
from skillkit.core.resources import MAX_PAGE
from skillkit.core.text import one_line
from skillkit.disclosure import ToolResult
from skillkit.disclosure.catalogue import skill_id
from skillkit.disclosure.envelope import resource_page
from skillkit.integrations.default_tools import Paths, manager_of
from skillkit.scripts import ScriptTools, find_script

logger = logging.getLogger(__name__)

_MAX_DESCRIPTION = 1024
_MAX_COMPATIBILITY = 500


class SkillKitSource(SkillsSource):
    """The catalogue of a manager for the framework's own `SkillsProvider`; scripts are run by our runner."""

    def __init__(self, manager: SkillManager | Paths, scripts: ScriptTools | None = None) -> None:
        manager = manager_of(manager)
        self.manager = manager
        self.scripts = scripts or ScriptTools(manager)
        self._offered: list[SkillMetadata] = []
        self._made: list[FrameworkSkill] = []

    async def get_skills(self, context: Context) -> list[FrameworkSkill]:
        offered = await asyncio.to_thread(self._offer)
        if offered != self._offered:  # the framework asks at every run
            made = [self._skill(skill) for skill in offered]
            self._offered, self._made = offered, [skill for skill in made if skill is not None]
        return list(self._made)

    def _offer(self) -> list[SkillMetadata]:
        self.manager.ensure_discovered()
        return self.manager.offered_skills()

    def _skill(self, skill: SkillMetadata) -> FrameworkSkill | None:
        try:
            return _CatalogueSkill(self, skill)
        except ValueError as error:
            logger.warning("Agent Framework rejects the skill '%s': %s", skill.name, error)
            return None


class _CatalogueSkill(FrameworkSkill):
    def __init__(self, source: SkillKitSource, skill: SkillMetadata) -> None:
        self._source = source
        self._skill = skill
        self._frontmatter = SkillFrontmatter(
            name=skill_id(skill),
            description=one_line(skill.description)[:_MAX_DESCRIPTION],
            license=skill.license,
            compatibility=skill.compatibility and skill.compatibility[:_MAX_COMPATIBILITY],
        )

    frontmatter = property(attrgetter("_frontmatter"))
    """What the framework reads of every skill several times a run."""

    async def get_content(self) -> str:
        return await self._source.manager.ainvoke_skill(skill_id(self._skill))

    async def get_resource(self, name: str) -> SkillResource | None:
        known = await self._source.manager.alist_resources(skill_id(self._skill))
        if name not in (resource.path for resource in known):
            return None
        return _Resource(self._source.manager, self._skill, name)

    async def get_script(self, name: str) -> SkillScript | None:
        script = find_script(self._skill, name)
        return None if script is None else _Script(self._source.scripts, self._skill, script.name)


class _Resource(SkillResource):
    def __init__(self, manager: SkillManager, skill: SkillMetadata, path: str) -> None:
        super().__init__(name=path)
        self._manager = manager
        self._skill = skill

    async def read(self, **kwargs: Any) -> str:
        identity = skill_id(self._skill)
        page = await self._manager.aread_resource(identity, self.name, 0, MAX_PAGE)
        return resource_page(identity, page)


class _Script(SkillScript):
    def __init__(self, scripts: ScriptTools, skill: SkillMetadata, name: str) -> None:
        super().__init__(name=name)
        self._scripts = scripts
        self._skill = skill

    async def run(
        self, skill: FrameworkSkill, args: dict[str, Any] | list[str] | None = None, **kwargs: Any
    ) -> str:
        given = command_line(args, lambda name: f"--{name.replace('_', '-')}")
        result = await self._scripts.ascript_run(skill_id(self._skill), self.name, given, json=False)
        return ToolResult.from_data("script_run", result).text


def command_line(
    args: Mapping[str, Any] | Sequence[str] | None, option: Callable[[str], str] = "--{}".format
) -> list[str]:
    """Return a list unchanged, and a mapping as options, like the framework's own runners."""
    if not isinstance(args, Mapping):
        return [str(argument) for argument in args or ()]
    line: list[str] = []
    for name, value in args.items():
        if value is not False and value is not None:
            line += [option(name)] if value is True else [option(name), str(value)]
    return line
