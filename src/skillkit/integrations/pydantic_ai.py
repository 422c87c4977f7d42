"""Skills for Pydantic AI: a toolset, and a capability that brings it."""

from collections import OrderedDict
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from skillkit.core.extras import pip_install

try:
    from pydantic_ai import Agent, RunContext
    from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering, ProcessHistory
    from pydantic_ai.exceptions import ToolFailed
    from pydantic_ai.messages import (
        BinaryContent,
        InstructionPart,
        ModelMessage,
        ModelRequest,
        ModelResponse,
        ToolReturn,
        UserPromptPart,
    )
    from pydantic_ai.models import Model, ModelRequestContext, infer_model
    from pydantic_ai.settings import ModelSettings, ThinkingEffort
    from pydantic_ai.tools import AgentDepsT, ToolDefinition
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
    from pydantic_core import SchemaValidator, core_schema
except ImportError as error:
    raise ImportError(
        f"The Pydantic AI integration needs pydantic-ai-slim: {pip_install('pydantic-ai')}"
    ) from error

from skillkit.core.authority import Requester
from skillkit.disclosure import Disclosure, Insertion, SkillSession, ToolResult, with_insertions
from skillkit.disclosure.disclosed import ModelChoice
from skillkit.disclosure.tool_sources import Approve, Asks
from skillkit.integrations.conversation import Conversation, Fork, ForkedSkill
from skillkit.integrations.default_tools import Skills, default_provider

__all__ = ["SkillSessions", "SkillsCapability", "SkillsToolset"]

RequesterOf = Callable[[RunContext[Any]], Requester]
_MAX_RUNNING = 1000
_ANYTHING = SchemaValidator(core_schema.any_schema())
"""The tools check their arguments themselves, so that every framework gives the same answer."""


class SkillSessions(OrderedDict[str, SkillSession]):
    """Most recently used sessions by conversation; an evicted conversation starts over with a new one."""

    def __init__(self, limit: int = 10_000) -> None:
        super().__init__()
        self.limit = limit

    def __setitem__(self, conversation: str, session: SkillSession) -> None:
        super().__setitem__(conversation, session)
        self.move_to_end(conversation)
        while len(self) > self.limit:
            self.popitem(last=False)


class SkillsToolset(AbstractToolset[AgentDepsT]):
    """The skills of all conversations of an agent; `sessions` may be any mapping that keeps them longer."""

    def __init__(
        self,
        skills: Skills,
        *,
        sessions: MutableMapping[str, SkillSession] | None = None,
        asks: Asks | None = None,
        approve: Approve | None = None,
        models: Mapping[str, Model | str] | None = None,
        requester: RequesterOf | None = None,
        id: str = "skills",
    ) -> None:
        """`models` maps the `model` of a skill to a model. A skill with `context: fork` runs as a separate
        agent; `approve` is asked in it, where nothing can be deferred."""
        self.approve = approve
        self.models = models or {}
        self.provider = default_provider(skills)
        self.sessions = SkillSessions() if sessions is None else sessions
        self.asks = asks
        self.requester = requester
        self.among_messages = False
        """Whether `extended` is called for each request, as `SkillsCapability` does; else the texts of skills
        are part of the instructions of every request."""
        self._running: OrderedDict[str, Conversation] = OrderedDict()
        self._id = id

    @property
    def id(self) -> str:
        return self._id

    def conversation(self, ctx: RunContext[AgentDepsT]) -> Conversation:
        """Return the conversation that a run belongs to."""
        key = ctx.conversation_id or ctx.run_id or ""
        session = self.sessions.get(key)
        if session is None:
            session = self.sessions[key] = SkillSession()
        running = self._running.get(ctx.run_id or "")
        if running is None or running.session is not session:
            running = Conversation(
                self.provider,
                session,
                approve=self.approve,
                asks=self.asks,
                requester=None if self.requester is None else self.requester(ctx),
                fork=self._fork(ctx),
            )
            self._running[ctx.run_id or ""] = running
            while len(self._running) > _MAX_RUNNING:
                self._running.popitem(last=False)
        return running

    def _fork(self, ctx: RunContext[AgentDepsT]) -> Fork:
        async def run(forked: ForkedSkill) -> str:
            within = SkillsCapability[AgentDepsT](self.provider)
            within.use(_ForkedToolset(self, forked.conversation))
            agent = ctx.agent
            model: Any = self.model_for(forked.choice) or ctx.model
            settings: Any = ctx.model_settings
            beside: Agent[AgentDepsT, str] = Agent(model, name=forked.conversation.session.fork_of)
            toolsets = () if forked.reads_only or agent is None else agent.toolsets
            result = await beside.run(
                forked.request,
                deps=ctx.deps,
                usage=ctx.usage,
                model_settings=settings,
                toolsets=[toolset for toolset in toolsets if not _holds_skills(toolset)],
                capabilities=[within],
            )
            return str(result.output)

        return run

    def model_for(self, choice: ModelChoice) -> Model | None:
        """Return the model that skills ask for; None for the agent's own."""
        meant = self.models.get(choice.model) if choice.model is not None else None
        return infer_model(meant) if isinstance(meant, str) else meant

    async def _disclosed(self, ctx: RunContext[AgentDepsT]) -> Disclosure:
        request = (ctx.run_id, ctx.run_step, len(ctx.messages))
        seen = neutral_messages(ctx.messages, ctx.prompt)
        return await self.conversation(ctx).adisclose_once(
            request, seen, whole_history=not self.among_messages, elsewhere=self.among_messages
        )

    async def names(self, ctx: RunContext[AgentDepsT]) -> set[str]:
        """Return the names of skill tools, without the agent's own."""
        return {tool.name for tool in (await self._disclosed(ctx)).tools}

    async def get_instructions(self, ctx: RunContext[AgentDepsT]) -> Sequence[InstructionPart]:
        disclosure = await self._disclosed(ctx)
        parts = [InstructionPart(disclosure.instructions, dynamic=False, name="catalogue")]
        if not self.among_messages:
            texts = (insertion.text for insertion in disclosure.insertions)
            parts += [InstructionPart(text, dynamic=True, name="active") for text in texts]
        return [part for part in parts if part.content]

    async def extended(
        self, ctx: RunContext[AgentDepsT], messages: Sequence[ModelMessage]
    ) -> list[ModelMessage]:
        """Return the messages of a request with the texts of skills inserted."""
        conversation = self.conversation(ctx)
        insertions = await conversation.insertions(neutral_messages(messages), conversation.disclosed_note())
        return with_insertions(messages, insertions, _as_message)

    async def get_tools(self, ctx: RunContext[AgentDepsT]) -> dict[str, ToolsetTool[AgentDepsT]]:
        return {
            tool.name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=tool.name,
                    description=tool.description,
                    parameters_json_schema=dict(tool.parameters),
                    kind="unapproved" if tool.asks else "function",
                ),
                max_retries=1,
                args_validator=_ANYTHING,
            )
            # The framework asks for the tools before the instructions, and matched skills add tools.
            for tool in (await self._disclosed(ctx)).tools
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[AgentDepsT], tool: ToolsetTool[AgentDepsT]
    ) -> str | ToolReturn[Any]:
        # A tool of the kind "unapproved" comes here only after the user has approved the call.
        return _flagged(await self.conversation(ctx).call(name, tool_args, approved=True))


@dataclass
class SkillsCapability(AbstractCapability[AgentDepsT]):
    """Skills as one capability of an agent: `Agent(…, capabilities=[SkillsCapability("skills")])`."""

    skills: Skills
    sessions: MutableMapping[str, SkillSession] | None = None
    asks: Asks | None = None
    approve: Approve | None = None
    """Asked about what the agent of a skill with `context: fork` wants to run."""
    models: Mapping[str, Model | str] | None = None
    """Which model is meant by the `model` of a skill; others are the agent's own."""
    requester: RequesterOf | None = None
    """On whose behalf the authority is asked, by the context of the run."""
    toolset: SkillsToolset[AgentDepsT] = field(init=False)

    def __post_init__(self) -> None:
        self.use(
            SkillsToolset(
                self.skills,
                sessions=self.sessions,
                asks=self.asks,
                approve=self.approve,
                models=self.models,
                requester=self.requester,
            )
        )

    def use(self, toolset: SkillsToolset[AgentDepsT]) -> None:
        """Add `toolset`, with the texts of skills among the messages."""
        toolset.among_messages = True
        self.toolset = toolset

    def get_ordering(self) -> CapabilityOrdering:
        """Run after capabilities that shorten the history, so that they keep the texts of skills."""
        return CapabilityOrdering(wrapped_by=[ProcessHistory])

    async def before_model_request(
        self, ctx: RunContext[AgentDepsT], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        messages = await self.toolset.extended(ctx, request_context.messages)
        choice = self.toolset.conversation(ctx).model_choice
        return replace(
            request_context,
            messages=messages,
            model=self.toolset.model_for(choice) or request_context.model,
            model_settings=settings_for(choice, request_context.model_settings),
        )

    async def prepare_tools(
        self, ctx: RunContext[AgentDepsT], tool_defs: list[ToolDefinition]
    ) -> list[ToolDefinition]:
        """Return the agent's tools after the gate, and ours unchanged."""
        names = await self.toolset.names(ctx)
        own = [tool for tool in tool_defs if tool.name not in names]
        ours = [tool for tool in tool_defs if tool.name in names]
        return [*self.toolset.conversation(ctx).gated(own, asking=_asking), *ours]

    def get_toolset(self) -> SkillsToolset[AgentDepsT]:
        return self.toolset


class _ForkedToolset(SkillsToolset[AgentDepsT]):
    """The one conversation of a forked skill."""

    def __init__(self, outer: SkillsToolset[AgentDepsT], conversation: Conversation) -> None:
        super().__init__(outer.provider, models=outer.models, id=f"{outer.id}-fork")
        self._conversation = conversation

    def conversation(self, ctx: RunContext[AgentDepsT]) -> Conversation:
        return self._conversation


def settings_for(choice: ModelChoice, settings: Any) -> ModelSettings | None:
    """Return the settings of a request with the effort that skills ask for; models without one ignore it."""
    given = cast("ModelSettings", settings or {})
    if choice.effort is None:
        return given or None
    return {**given, "thinking": cast("ThinkingEffort", choice.effort)}


def _holds_skills(toolset: AbstractToolset[Any]) -> bool:
    """Return whether a toolset is ours, however it is wrapped."""
    leaves: list[AbstractToolset[Any]] = []
    toolset.apply(leaves.append)
    return any(isinstance(leaf, SkillsToolset) for leaf in leaves)


def _flagged(result: ToolResult) -> str | ToolReturn[Any]:
    if result.failed:
        raise ToolFailed(result.text)
    if not (files := result.files):
        return result.text
    shown = [
        BinaryContent(file.content, media_type=file.media_type, identifier=file.name) for file in result.shown
    ]
    return ToolReturn([result.text, *shown] if shown else result.text, metadata={"files": files})


def _asking(tool: ToolDefinition) -> ToolDefinition:
    return replace(tool, kind="unapproved") if tool.kind == "function" else tool


def neutral_messages(messages: Sequence[ModelMessage], prompt: object = None) -> list[Mapping[str, object]]:
    """Convert the messages to neutral messages, one for each message."""
    neutral = [_neutral(message) for message in messages]
    if not neutral and prompt is not None:
        neutral.append({"role": "user", "content": _text(prompt)})
    return neutral


def _neutral(message: ModelMessage) -> Mapping[str, object]:
    if isinstance(message, ModelResponse):
        calls = [
            {"type": "tool_use", "name": call.tool_name, "input": call.args} for call in message.tool_calls
        ]
        return {"role": "assistant", "content": [{"type": "text", "text": message.text or ""}, *calls]}
    content = [
        {
            "type": "text" if isinstance(part, UserPromptPart) else "tool_result",
            "text": _text(getattr(part, "content", "")),
        }
        for part in message.parts
    ]
    said = any(part["type"] == "text" for part in content)
    return {"role": "user" if said else "tool", "content": content}


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, Sequence) else [content]
    return "\n".join(part for part in parts if isinstance(part, str))


def _as_message(insertion: Insertion) -> ModelMessage:
    return ModelRequest([UserPromptPart(insertion.text)])
