"""Skills for Microsoft Agent Framework: a context provider, and a source for the framework's own provider."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

try:
    from agent_framework import (
        AgentSession,
        ContextProvider,
        FunctionTool,
        SessionContext,
        SkillFrontmatter,
        SkillResource,
        SkillScript,
        SkillsSource,
        SupportsAgentRun,
    )
    from agent_framework import Skill as FrameworkSkill
    from agent_framework import SkillsSourceContext as Context
    from pydantic import BaseModel, ConfigDict
except ImportError as error:
    raise ImportError(
        "The Agent Framework integration needs agent-framework-core: pip install 'skillkit[agent-framework]'"
    ) from error

from skillkit.core.manager import SkillManager
from skillkit.core.models import SkillMetadata
from skillkit.core.resources import MAX_PAGE
from skillkit.core.text import one_line
from skillkit.disclosure import SkillContextProvider, SkillSession, Tool, ToolResult
from skillkit.disclosure.catalogue import skill_id
from skillkit.disclosure.envelope import resource_page
from skillkit.integrations.conversation import Asks, Conversation, Skills, default_provider
from skillkit.scripts import ScriptTools, find_script

__all__ = ["SkillKitSource", "SkillsContextProvider"]

logger = logging.getLogger(__name__)

_MAX_DESCRIPTION = 1024
_MAX_COMPATIBILITY = 500


class SkillsContextProvider(ContextProvider):
    """Adds the skills to each run of an agent; the session is kept in the agent session's state."""

    def __init__(
        self,
        skills: Skills,
        source_id: str = "skillkit",
        *,
        asks: Asks | None = None,
    ) -> None:
        super().__init__(source_id)
        self.provider = skills if isinstance(skills, SkillContextProvider) else default_provider(skills)
        self.asks = asks

    async def before_run(
        self,
        *,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        saved = state.get("session")
        memory = SkillSession.from_data(saved) if saved else SkillSession()
        conversation = Conversation(self.provider, memory, asks=self.asks)
        disclosure = await conversation.adisclose(context.input_messages)
        state["session"] = dict(memory.to_data())
        if disclosure.instructions:
            context.extend_instructions(self.source_id, disclosure.instructions)
        context.extend_tools(
            self.source_id, [_SkillTool(conversation, tool, state) for tool in disclosure.tools]
        )


class _Arguments(BaseModel):
    """Anything: the tools check their arguments themselves, so that every framework gives the same answer."""

    model_config = ConfigDict(extra="allow")


class _SkillTool(FunctionTool):
    """A neutral tool; what it changes in the session is written into the state at once."""

    def __init__(self, conversation: Conversation, tool: Tool, state: dict[str, Any]) -> None:
        async def call(**arguments: object) -> str:
            # The framework has asked for approval before it comes here.
            result = await conversation.call(tool.name, arguments, approved=True)
            state["session"] = dict(conversation.session.to_data())
            return result.text

        super().__init__(
            name=tool.name,
            description=tool.description,
            func=call,
            input_model=_Arguments,
            approval_mode="always_require" if tool.asks else "never_require",
        )
        self._neutral = tool

    def parameters(self) -> dict[str, Any]:
        return dict(self._neutral.parameters)


class SkillKitSource(SkillsSource):
    """The catalogue of a manager for the framework's own `SkillsProvider`; scripts are run by our runner."""

    def __init__(self, manager: SkillManager, scripts: ScriptTools | None = None) -> None:
        self.manager = manager
        self.scripts = scripts or ScriptTools(manager)

    async def get_skills(self, context: Context) -> list[FrameworkSkill]:
        skills: list[FrameworkSkill] = []
        for skill in await asyncio.to_thread(self.manager.offered_skills):
            try:
                skills.append(_CatalogueSkill(self, skill))
            except ValueError as error:
                logger.warning("Agent Framework does not take the skill '%s': %s", skill.name, error)
        return skills


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

    @property
    def frontmatter(self) -> SkillFrontmatter:
        return self._frontmatter

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
        given = _command_line(args)
        result = await self._scripts.ascript_run(skill_id(self._skill), self.name, given, json=False)
        return ToolResult.from_data("script_run", result).text


def _command_line(args: Mapping[str, Any] | list[str] | None) -> list[str]:
    """Named arguments as options; a list is taken as it is."""
    if not isinstance(args, Mapping):
        return [str(argument) for argument in args or ()]
    line: list[str] = []
    for name, value in args.items():
        option = f"--{name.replace('_', '-')}"
        line += [option] if value is True else [] if value in (False, None) else [option, str(value)]
    return line
