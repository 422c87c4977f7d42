"""Skills for Microsoft Agent Framework: a context provider, and a source for the framework's own provider."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from skillkit.core.extras import pip_install

try:
    from agent_framework import (
        Agent,
        AgentSession,
        ChatContext,
        ChatMiddleware,
        Content,
        ContextProvider,
        FunctionInvocationContext,
        FunctionMiddleware,
        FunctionTool,
        Message,
        RawAgent,
        SessionContext,
        SupportsAgentRun,
    )
    from pydantic import BaseModel, ConfigDict
except ImportError as error:
    raise ImportError(
        f"The Agent Framework integration needs agent-framework-core: {pip_install('agent-framework')}"
    ) from error

from skillkit.core.authority import Requester
from skillkit.disclosure import Disclosure, Insertion, SkillSession, Tool, with_insertions
from skillkit.disclosure.disclosed import ModelChoice
from skillkit.disclosure.tool_sources import Approve, Asks
from skillkit.integrations.agent_framework_files import INSERTED, show_files
from skillkit.integrations.agent_framework_source import SkillKitSource
from skillkit.integrations.conversation import Arguments, Conversation, Fork, ForkedSkill, Wrap
from skillkit.integrations.default_tools import Skills, default_provider

__all__ = ["INSERTED", "SkillKitSource", "SkillsContextProvider"]

EffortOptions = Callable[[str], Mapping[str, object]]
"""Makes options of a request of `low`, `medium`, `high`, `xhigh` or `max`."""

_FAILED = "skillkit.failed"
FILES = "skillkit.files"
"""Where the result of a script names what it made, among its additional properties."""
RequesterOf = Callable[[SupportsAgentRun, AgentSession], Requester]


class SkillsContextProvider(ContextProvider):
    """Adds the skills to each run of an agent; the session is kept in the agent session's state.

    Without `approve` the framework asks for approval by its own means; with it, `approve` is asked.
    A skill with `context: fork` runs as a separate agent with the client of this one; in it, what needs
    approval needs `approve`. `models` maps the `model` of a skill to the client's name for it, and
    `effort_options` maps an `effort` to options; without them, the program's own apply.
    """

    def __init__(
        self,
        skills: Skills,
        source_id: str = "skillkit",
        *,
        approve: Approve | None = None,
        asks: Asks | None = None,
        wrap: Wrap | None = None,
        models: Mapping[str, str] | None = None,
        effort_options: EffortOptions | None = None,
        requester: Requester | RequesterOf | None = None,
    ) -> None:
        """`requester` is the requester for the authority, or a function of the agent and its session."""
        super().__init__(source_id)
        self.models = models or {}
        self.effort_options = effort_options
        self.provider = default_provider(skills)
        self.approve = approve
        self.asks = asks
        self.wrap = wrap
        self.requester = requester

    fork_middleware: Callable[[], list[Any]] = list
    """Makes what else watches the agent of a forked skill."""

    def options_for(self, choice: ModelChoice) -> dict[str, Any]:
        """Return the request options for the model and effort that skills ask for."""
        options: dict[str, Any] = {}
        if (model := self.models.get(choice.model or "")) is not None:
            options["model"] = model
        if choice.effort is not None and self.effort_options is not None:
            options.update(self.effort_options(choice.effort))
        return options

    def fork(self, agent: SupportsAgentRun) -> Fork | None:
        """Return a function that runs a skill as a separate agent; None if `agent` is not supported."""
        if not isinstance(agent, RawAgent):
            return None

        async def run(forked: ForkedSkill) -> str:
            own = {key: value for key, value in agent.default_options.items() if key != "conversation_id"}
            tools = [*own.pop("tools", ()), *agent.mcp_tools]
            options: Any = own
            beside: Agent[Any] = Agent(
                agent.client,
                name=forked.conversation.session.fork_of,
                tools=[] if forked.reads_only else tools,
                default_options=options,
                context_providers=[_ForkedSkills(self, forked.conversation)],
                middleware=self.fork_middleware(),
            )
            return (await beside.run(forked.request)).text

        return run

    def conversation(self, session: SkillSession) -> Conversation:
        """Return the conversation of a run."""
        return Conversation(
            self.provider,
            session,
            approve=self.approve,
            asks=self.asks,
            wrap=self.wrap,
            requester=self.requester if isinstance(self.requester, Requester) else None,
        )

    def session_in(self, state: dict[str, Any]) -> SkillSession:
        """Return the session from `state`."""
        saved = state.get("session")
        return SkillSession.from_data(saved) if saved else SkillSession()

    def remember(self, conversation: Conversation, state: dict[str, Any]) -> None:
        """Save the conversation in `state`."""
        state["session"] = conversation.session.to_data()

    def visible_messages(self, agent: SupportsAgentRun, context: ChatContext) -> Sequence[object] | None:
        """Return all messages that the model will see in a request; None if they are not known here.

        With a conversation id the service has the history; an agent that keeps it per service call adds
        it after this. There a skill that was loaded before is delivered again when the model asks for it.
        """
        elsewhere = (context.options or {}).get("conversation_id") or getattr(
            agent, "require_per_service_call_history_persistence", False
        )
        return None if elsewhere else context.messages

    async def disclose(self, conversation: Conversation, messages: Sequence[Message]) -> Disclosure:
        """Disclose for a run; insertions among its messages follow with each request."""
        return await conversation.adisclose(messages, elsewhere=True)

    async def before_run(
        self,
        *,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        conversation = self.conversation(self.session_in(state))
        conversation.fork = self.fork(agent)
        if callable(self.requester):
            conversation.requester = self.requester(agent, session)
        disclosure = await self.disclose(conversation, context.get_messages(include_input=True))
        self.remember(conversation, state)
        if disclosure.instructions:
            context.extend_instructions(self.source_id, disclosure.instructions)
        run = _Run(self, agent, conversation, state, disclosure.note)
        context.extend_tools(self.source_id, [_SkillTool.of(run, tool) for tool in disclosure.tools])
        context.extend_middleware(self.source_id, [_SkillCalls(run), _SkillRequests(run)])


class _ForkedSkills(SkillsContextProvider):
    """The one conversation of a forked skill."""

    def __init__(self, outer: SkillsContextProvider, conversation: Conversation) -> None:
        super().__init__(
            outer.provider, outer.source_id, models=outer.models, effort_options=outer.effort_options
        )
        self._conversation = conversation

    def conversation(self, session: SkillSession) -> Conversation:
        return self._conversation

    def remember(self, conversation: Conversation, state: dict[str, Any]) -> None:
        """Do nothing: the conversation ends with its result."""


@dataclass
class _Run:
    """Shared state of one run's tools and middleware."""

    provider: SkillsContextProvider
    agent: SupportsAgentRun
    conversation: Conversation
    state: dict[str, Any]
    note: str
    """The note of the first request."""
    failed: set[str] = field(default_factory=set)
    """Ids of calls that failed."""
    files: dict[str | None, list[dict[str, object]]] = field(default_factory=dict)
    """Files made by scripts, by call id."""
    own: dict[str, FunctionTool] = field(default_factory=dict)
    """Functions of the agent's own, by name, as they are without the gate."""
    loaded_before: frozenset[str] = field(init=False)
    """Skills that were loaded in earlier runs."""

    def __post_init__(self) -> None:
        active = self.conversation.session.active
        self.loaded_before = frozenset(each.skill_id for each in active if each.in_messages)

    def gate(self, tools: Any, now: Collection[str] | None = None) -> None:
        """Apply the gate to the run's own list of tools, in place.

        `now` are those that the conversation itself has at this moment: it may hide some, too.
        """
        if self.conversation.provider.gate is None or not isinstance(tools, list):
            return
        others = []
        for tool in tools:
            if isinstance(tool, FunctionTool) and not isinstance(tool, _SkillTool):
                self.own.setdefault(tool.name, tool)
            elif now is None or not isinstance(tool, _SkillTool) or tool.name in now:
                others.append(tool)
        tools[:] = [
            *self.conversation.gated(self.own.values(), asking=None if self.provider.approve else _asking),
            *others,
        ]


class _SkillCalls(FunctionMiddleware):
    """Adds the tools that a call made available, and records whether the call failed."""

    def __init__(self, run: _Run) -> None:
        self.run = run

    async def process(
        self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]
    ) -> None:
        run = self.run
        if run.provider.approve is not None and not isinstance(context.function, _SkillTool):
            refused = await run.conversation.refuse(context.function.name, dict(context.arguments))
            if refused is not None:
                context.result = refused.text
                return
        before = run.conversation.session.active_ids
        await call_next()
        if isinstance(context.function, _SkillTool) and context.metadata.pop(_FAILED, False):
            run.failed.add(str(context.metadata.get("call_id")))
        if made := context.metadata.pop(FILES, None):
            run.files[str(context.metadata.get("call_id"))] = made
        if context.tools is not None and run.conversation.session.active_ids != before:
            tools = await run.conversation.atools()
            # Calls run in parallel: between this look and the addition nothing may wait.
            known = {tool.name for tool in context.tools if isinstance(tool, FunctionTool)}
            # The framework's add_tools warns that it is experimental; the list is documented to be live.
            context.tools.extend(_SkillTool.of(run, tool) for tool in tools if tool.name not in known)
            run.gate(context.tools, {tool.name for tool in tools})


class _SkillRequests(ChatMiddleware):
    """Before each request, flags the results that are failures and puts the texts of skills among the
    messages; into those that an agent adds to each request itself, its history puts them."""

    def __init__(self, run: _Run) -> None:
        self.run = run

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        for message in context.messages:
            for content in message.contents:
                if content.type == "function_result" and content.call_id in self.run.failed:
                    content.exception = content.exception or "The tool failed"
                if content.type == "function_result" and content.call_id in self.run.files:
                    content.additional_properties[FILES] = self.run.files.pop(content.call_id)
        run = self.run
        run.gate((context.options or {}).get("tools"))
        visible = run.provider.visible_messages(run.agent, context)
        if visible is None:
            run.conversation.session.doubt(run.loaded_before)
            run.loaded_before = frozenset()
        note, run.note = run.note, ""
        insertions = await run.conversation.insertions(
            context.messages if visible is None else visible, note, elsewhere=visible is None
        )
        run.provider.remember(run.conversation, run.state)
        if wanted := run.provider.options_for(run.conversation.model_choice):
            context.options = {**(context.options or {}), **wanted}
        earlier = 0 if visible is None else len(visible) - len(context.messages)
        extended = with_insertions(
            context.messages,
            [
                replace(each, place=max(0, each.place - earlier))
                for each in insertions
                if each.place > earlier or not each.kept
            ],
            as_message,
        )
        files = run.provider.provider.shown_files
        context.messages = show_files(extended) if files else extended
        await call_next()


def as_message(insertion: Insertion) -> Message:
    """Return a message of the framework that is marked as not written by the user."""
    return Message("user", [insertion.text], additional_properties={INSERTED: insertion.kept})


def _asking(tool: FunctionTool) -> FunctionTool:
    asking = copy(tool)
    asking.approval_mode = "always_require"
    return asking


class _Arguments(BaseModel):
    """Anything: the tools check their arguments themselves, so that every framework gives the same answer."""

    model_config = ConfigDict(extra="allow")


class _SkillTool(FunctionTool):
    """A neutral tool whose session changes are saved at once."""

    _run: _Run
    _tool: Tool

    def __init__(self) -> None:
        super().__init__(name="skillkit", func=self._call, input_model=_Arguments)

    @classmethod
    def of(cls, run: _Run, tool: Tool) -> "_SkillTool":
        """Return the tool for one run, a copy: the framework studies the function when a tool is made."""
        made = copy(_blank_tool())
        made._run, made._tool = run, tool
        made.name, made.description, made.func = tool.name, tool.description, made._call
        made.approval_mode = "always_require" if tool.asks and made._asked_by_framework else "never_require"
        return made

    @property
    def neutral(self) -> Tool:
        """The neutral tool that this one wraps."""
        return self._tool

    @property
    def _asked_by_framework(self) -> bool:
        return self._run.provider.approve is None

    async def _call(self, context: FunctionInvocationContext, **arguments: object) -> str | list[Content]:
        run, tool = self._run, self._tool
        given = _as_written(arguments, tool)
        result = await run.conversation.call(tool.name, given, approved=self._asked_by_framework)
        run.provider.remember(run.conversation, run.state)
        context.metadata[_FAILED] = result.failed
        context.metadata[FILES] = result.files
        if not result.shown:
            return result.text
        shown = [Content.from_data(file.content, file.media_type, name=file.name) for file in result.shown]
        return [Content.from_text(result.text), *shown]

    def parameters(self) -> dict[str, Any]:
        return dict(self._tool.parameters)


_blank_tool = cache(_SkillTool)


def _as_written(arguments: dict[str, object], tool: Tool) -> Arguments:
    """Return arguments that are not JSON as the model's text, which the framework calls `raw`."""
    match arguments:
        case {"raw": str(text)} if len(arguments) == 1 and "raw" not in str(tool.parameters):
            return text
        case _:
            return arguments
