"""Skills for Pydantic AI: a toolset, and a capability that brings it."""

from collections import OrderedDict
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

try:
    from pydantic_ai import RunContext
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.exceptions import ToolFailed
    from pydantic_ai.messages import (
        InstructionPart,
        ModelMessage,
        ModelRequest,
        ModelResponse,
        UserPromptPart,
    )
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.tools import AgentDepsT, ToolDefinition
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
    from pydantic_core import SchemaValidator, core_schema
except ImportError as error:
    raise ImportError(
        "The Pydantic AI integration needs pydantic-ai-slim: pip install 'skillkit[pydantic-ai]'"
    ) from error

from skillkit.disclosure import (
    Disclosure,
    Insertion,
    SkillContextProvider,
    SkillSession,
    with_insertions,
)
from skillkit.integrations.conversation import Asks, Conversation, Skills, default_provider

__all__ = ["SkillSessions", "SkillsCapability", "SkillsToolset"]

_MAX_RUNNING = 1000
_ANYTHING = SchemaValidator(core_schema.any_schema())
"""The tools check their arguments themselves, so that every framework gives the same answer."""


class SkillSessions(OrderedDict[str, SkillSession]):
    """Sessions by conversation, the ones used last; an older conversation starts over with a new one."""

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
        id: str = "skills",
    ) -> None:
        self.provider = skills if isinstance(skills, SkillContextProvider) else default_provider(skills)
        self.sessions = SkillSessions() if sessions is None else sessions
        self.asks = asks
        self.among_messages = False
        """Whether somebody calls `extended` for each request, as `SkillsCapability` does; else the texts of
        skills are instructions, anew for every request."""
        self._running: OrderedDict[str, Conversation] = OrderedDict()
        self._id = id

    @property
    def id(self) -> str:
        return self._id

    def conversation(self, ctx: RunContext[AgentDepsT]) -> Conversation:
        """The conversation that a run belongs to."""
        key = ctx.conversation_id or ctx.run_id or ""
        session = self.sessions.get(key)
        if session is None:
            session = self.sessions[key] = SkillSession()
        running = self._running.get(ctx.run_id or "")
        if running is None or running.session is not session:
            running = Conversation(self.provider, session, asks=self.asks)
            self._running[ctx.run_id or ""] = running
            while len(self._running) > _MAX_RUNNING:
                self._running.popitem(last=False)
        return running

    async def _disclosed(self, ctx: RunContext[AgentDepsT]) -> Disclosure:
        request = (ctx.run_id, ctx.run_step, len(ctx.messages))
        seen = neutral_messages(ctx.messages, ctx.prompt)
        return await self.conversation(ctx).adisclose_once(
            request, seen, whole_history=not self.among_messages, elsewhere=self.among_messages
        )

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
        """The messages of a request with the texts of skills among them."""
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
            # The framework asks for the tools before the instructions, and what matches brings tools along.
            for tool in (await self._disclosed(ctx)).tools
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[AgentDepsT], tool: ToolsetTool[AgentDepsT]
    ) -> str:
        # A tool of the kind "unapproved" comes here only after the user has approved the call.
        result = await self.conversation(ctx).call(name, tool_args, approved=True)
        if result.failed:
            raise ToolFailed(result.text)
        return result.text


@dataclass
class SkillsCapability(AbstractCapability[AgentDepsT]):
    """Skills as one thing to hand to an agent: `Agent(…, capabilities=[SkillsCapability(manager)])`."""

    skills: Skills
    sessions: MutableMapping[str, SkillSession] | None = None
    asks: Asks | None = None
    toolset: SkillsToolset[AgentDepsT] = field(init=False)

    def __post_init__(self) -> None:
        self.toolset = SkillsToolset(self.skills, sessions=self.sessions, asks=self.asks)
        self.toolset.among_messages = True

    async def before_model_request(
        self, ctx: RunContext[AgentDepsT], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        messages = await self.toolset.extended(ctx, request_context.messages)
        return replace(request_context, messages=messages)

    def get_toolset(self) -> SkillsToolset[AgentDepsT]:
        return self.toolset


def neutral_messages(messages: Sequence[ModelMessage], prompt: object = None) -> list[Mapping[str, object]]:
    """Who said what, in the form that disclosure reads: one for each message."""
    neutral = [_neutral(message) for message in messages]
    if not neutral and prompt is not None:
        neutral.append({"role": "user", "content": _text(prompt)})
    return neutral


def _neutral(message: ModelMessage) -> Mapping[str, object]:
    if isinstance(message, ModelResponse):
        return {"role": "assistant", "content": message.text or ""}
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
