"""Skills as a context provider of Agent Framework: texts before a request, tools once they are of use."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agent_framework import (
    AgentSession,
    ContextProvider,
    FunctionInvocationContext,
    FunctionMiddleware,
    FunctionTool,
    Message,
    SessionContext,
)

from skillkit.agent.telemetry import span
from skillkit.disclosure import Disclosure, SessionDataError, SkillSession, Tool
from skillkit.disclosure import SkillContextProvider as SkillDisclosure
from skillkit.disclosure.catalogue import skill_id
from skillkit.disclosure.skill_tools import LOAD_SKILL
from skillkit.scripts import ScriptTools, find_scripts
from skillkit.scripts.tools import SCRIPT_RUN
from skillkit.toolsets import ToolsetError, ToolsetLoader
from skillkit.toolsets.loader import LoadedToolset, auto_prefix_enabled, collect_tools

if TYPE_CHECKING:
    from agent_framework import SupportsAgentRun

    from skillkit.core.manager import SkillManager
    from skillkit.core.models import SkillMetadata

STATE = "skills"
NEAR = 0.025
"""The confidence from which a small model is offered to load a skill that did not match."""
Observer = Callable[[Disclosure], object]


class ScriptToolSource:
    """The script tools, once a skill with scripts is active or the user asks for one of them by name."""

    def __init__(self, manager: "SkillManager", scripts: ScriptTools) -> None:
        self.manager = manager
        self.scripts = scripts

    def tools(self, session: SkillSession) -> Sequence[Tool]:
        tools = self.scripts.tools()
        asked = any(tool.name in session.heard for tool in tools)
        skills = self.manager.offered_skills() if asked else map(self.manager.get_skill, session.active_ids)
        return tools if any(find_scripts(skill) for skill in skills) else ()


class ToolsetSource:
    """The tools of active skills' toolsets; one that cannot be loaded is reported once and left out."""

    def __init__(
        self, manager: "SkillManager", loader: ToolsetLoader, problem: Callable[[str], object]
    ) -> None:
        self.manager = manager
        self.loader = loader
        self.problem = problem
        self._loaded: dict[tuple[str, str], LoadedToolset | None] = {}

    def tools(self, session: SkillSession) -> Sequence[Tool]:
        active = [self.manager.get_skill(skill_id) for skill_id in session.active_ids]
        loaded = [
            toolset
            for skill in active
            for definition in skill.toolsets
            if (toolset := self._load(skill, definition)) is not None
        ]
        return collect_tools(loaded, auto_prefix=auto_prefix_enabled())

    def _load(self, skill: "SkillMetadata", definition: str) -> LoadedToolset | None:
        key = (skill.qualified_name, definition)
        if key not in self._loaded:
            try:
                self._loaded[key] = self.loader.load_toolset(skill, definition)
            except ToolsetError as error:
                self._loaded[key] = None
                self.problem(str(error))
        return self._loaded[key]


class SkillProvider(ContextProvider):
    """Puts the catalogue, the texts of matching skills and their tools into a request."""

    def __init__(
        self,
        disclosure: SkillDisclosure,
        observer: Observer = lambda disclosed: None,
        basic: Sequence[Tool] = (),
        *,
        small_model: bool = False,
        said_before: Callable[[], str] = str,
    ) -> None:
        super().__init__(STATE)
        self.disclosure = disclosure
        self.observer = observer
        self.basic = tuple(basic)
        """What the agent can do without skills; a skill that is in use does it better."""
        self.small_model = small_model
        """Tempted by every tool it sees, so it sees fewer: skills to load when the request is near them, or
        else those of the agent's own tools of which a word was said."""
        self.said_before = said_before
        """What the user said earlier in the conversation."""
        self._loadable: frozenset[str] | None = None
        self.session = SkillSession()
        self.last: Disclosure | None = None

    def restore(self, data: Any) -> str | None:
        """Take up the skills of a saved conversation; answers what is wrong when it cannot be done."""
        self.session = SkillSession()
        if not data:
            return None
        try:
            self.session = SkillSession.from_data(data)
        except SessionDataError as error:
            return str(error)
        return None

    async def before_run(
        self,
        *,
        agent: "SupportsAgentRun",
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        known = set(self.session.active_ids)
        messages = context.get_messages(include_input=True)
        disclosed = await self.disclosure.before_request(messages, self.session)
        for identity in disclosed.active:
            if identity not in known:
                with span("skill.activate", {"skill.name": identity, "skill.origin": "matched"}):
                    pass
        self.last = disclosed
        self.observer(disclosed)
        if disclosed.instructions:
            context.extend_instructions(self.source_id, disclosed.instructions)
        names = {tool.name for tool in disclosed.tools}
        basic = [] if disclosed.active else [tool for tool in self.basic if tool.name not in names]
        if self.small_model:
            self._loadable = frozenset() if disclosed.matched else await self._near(messages)
            said = [message.text for message in messages if message.role == "user"]
            spoken_of = " ".join([self.said_before(), *said])
            basic = [tool for tool in basic if not self._loadable and speaks_of(spoken_of, tool)]
        useful = self._useful(disclosed.tools)
        context.extend_tools(self.source_id, [SkillFunction(tool) for tool in (*basic, *useful)])
        context.extend_middleware(self.source_id, _Disclosing(self))

    async def _near(self, messages: Sequence[Message]) -> frozenset[str]:
        near = await asyncio.to_thread(self.disclosure.near, messages, self.session)
        return frozenset(skill_id(match.skill) for match in near if match.score >= NEAR)

    def new_tools(self, known: Sequence[str]) -> list[FunctionTool]:
        """Tools that have become of use since the request began."""
        tools = self._useful(self.disclosure.tools(self.session))
        return [SkillFunction(tool) for tool in tools if tool.name not in known]

    def _useful(self, tools: Sequence[Tool]) -> list[Tool]:
        active = self.session.active_ids
        useful = of_use(tools, active, self._loadable)
        if not self.small_model or all(tool.name != SCRIPT_RUN for tool in useful):
            return useful
        manager = self.disclosure.manager
        skills = [manager.get_skill(identity) for identity in active] or manager.offered_skills()
        scripts = {skill.name: [script.name for script in find_scripts(skill)] for skill in skills}
        return [_naming(tool, scripts) if tool.name == SCRIPT_RUN else tool for tool in useful]


class _Disclosing(FunctionMiddleware):
    """After each call of a tool, offer what it brought into reach."""

    def __init__(self, provider: SkillProvider) -> None:
        self.provider = provider

    async def process(
        self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]
    ) -> None:
        before = set(self.provider.session.active_ids)
        await call_next()
        for identity in set(self.provider.session.active_ids) - before:
            with span("skill.activate", {"skill.name": identity, "skill.origin": "loaded"}):
                pass
        if context.tools is not None:
            known = [tool.name for tool in context.tools if isinstance(tool, FunctionTool)]
            # The framework's add_tools warns that it is experimental; the list is documented to be live.
            context.tools.extend(self.provider.new_tools(known))


def of_use(
    tools: Sequence[Tool], active: Sequence[str], loadable: Collection[str] | None = None
) -> list[Tool]:
    """The tools of skills first; none that leads nowhere: loading what is loaded, files not in use.

    `loadable` are the skills that may be loaded; None for all.
    """
    useful = []
    load = None
    for tool in tools:
        if tool.name == LOAD_SKILL:
            load = tool
        elif active or not tool.needs_active:
            useful.append(tool)
    if load is not None:
        offered = load.choices("skill_id") or tuple(loadable or ())
        left = [
            identity
            for identity in offered
            if identity not in active and (loadable is None or identity in loadable)
        ]
        if left:
            useful.append(load.with_choices(skill_id=left))
        elif not offered and loadable is None:
            useful.append(load)
    return useful


def speaks_of(said: str, tool: Tool) -> bool:
    """Whether a word of the tool's name or description was said."""
    from skillkit.matching.terms import terms

    return not set(terms(said)).isdisjoint(terms(f"{tool.name} {tool.description}"))


def _naming(tool: Tool, scripts: Mapping[str, Sequence[str]]) -> Tool:
    """The tool with the skills and scripts that there are: a small model would invent others."""
    skills = [skill for skill, names in scripts.items() if names]
    names = sorted({name for names in scripts.values() for name in names})
    return tool.with_choices(skill_name=skills, script_name=names)


class SkillFunction(FunctionTool):
    """A neutral tool as the framework calls it."""

    def __init__(self, tool: Tool) -> None:
        async def call(**arguments: Any) -> str:
            return (await tool.call(arguments)).text

        super().__init__(
            name=tool.name, description=tool.description, func=call, input_model=dict(tool.parameters)
        )
        self.tool = tool


def spoken(result: object) -> str:
    """What a tool answered, in whichever form the framework holds it."""
    if isinstance(result, list):
        return "\n".join(str(getattr(part, "text", None) or getattr(part, "result", "")) for part in result)
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)
