"""Skills as a context provider of Agent Framework: disclosed before a request, tools added as they become of use."""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from agent_framework import (
    AgentSession,
    ContextProvider,
    FunctionInvocationContext,
    FunctionMiddleware,
    FunctionTool,
    SessionContext,
)

from skillkit.agent.telemetry import span
from skillkit.disclosure import Disclosure, SessionDataError, SkillSession, Tool
from skillkit.disclosure import SkillContextProvider as SkillDisclosure
from skillkit.scripts import ScriptTools, find_scripts

if TYPE_CHECKING:
    from agent_framework import SupportsAgentRun

    from skillkit.core.manager import SkillManager

STATE = "skills"
Observer = Callable[[Disclosure], object]


class ScriptToolSource:
    """The script tools, once a skill with scripts is active."""

    def __init__(self, manager: "SkillManager", scripts: ScriptTools) -> None:
        self.manager = manager
        self.scripts = scripts

    def tools(self, session: SkillSession) -> Sequence[Tool]:
        active = (self.manager.get_skill(skill_id) for skill_id in session.active_ids)
        return self.scripts.tools() if any(find_scripts(skill) for skill in active) else ()


class SkillProvider(ContextProvider):
    """Puts the catalogue, the texts of matching skills and their tools into a request."""

    def __init__(self, disclosure: SkillDisclosure, observer: Observer = lambda disclosed: None) -> None:
        super().__init__(STATE)
        self.disclosure = disclosure
        self.observer = observer
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
        disclosed = await self.disclosure.before_request(context.get_messages(include_input=True), self.session)
        for skill_id in disclosed.active:
            if skill_id not in known:
                with span("skill.activate", {"skill.name": skill_id, "skill.origin": "matched"}):
                    pass
        self.last = disclosed
        self.observer(disclosed)
        if disclosed.instructions:
            context.extend_instructions(self.source_id, disclosed.instructions)
        if disclosed.tools:
            context.extend_tools(self.source_id, [as_function(tool) for tool in disclosed.tools])
            context.extend_middleware(self.source_id, _Disclosing(self))

    def new_tools(self, known: Sequence[str]) -> list[FunctionTool]:
        """Tools that have become of use since the request began."""
        return [as_function(tool) for tool in self.disclosure.tools(self.session) if tool.name not in known]


class _Disclosing(FunctionMiddleware):
    """After each call of a tool, offer what it brought into reach."""

    def __init__(self, provider: SkillProvider) -> None:
        self.provider = provider

    async def process(
        self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]
    ) -> None:
        before = set(self.provider.session.active_ids)
        await call_next()
        for skill_id in set(self.provider.session.active_ids) - before:
            with span("skill.activate", {"skill.name": skill_id, "skill.origin": "loaded"}):
                pass
        if context.tools is not None:
            known = [tool.name for tool in context.tools if isinstance(tool, FunctionTool)]
            # The framework's add_tools warns that it is experimental; the list is documented to be live.
            context.tools.extend(self.provider.new_tools(known))


def as_function(tool: Tool) -> FunctionTool:
    """A neutral tool as the framework calls it."""

    async def call(**arguments: Any) -> str:
        return as_text(await tool.call(arguments))

    return FunctionTool(
        name=tool.name, description=tool.description, func=call, input_model=dict(tool.parameters)
    )


def as_text(result: object) -> str:
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)
