"""Skills for the OpenAI Agents SDK: an agent that has them, for any number of conversations."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any
from weakref import WeakSet

try:
    from agents import (
        Agent,
        FunctionTool,
        RunContextWrapper,
        SpanError,
        TContext,
        TResponseInputItem,
        get_current_span,
    )
    from agents.run_config import CallModelData, CallModelInputFilter, ModelInputData
    from agents.tool import Tool as SdkTool
    from agents.tool_context import ToolContext
except ImportError as error:
    raise ImportError(
        "The OpenAI Agents integration needs openai-agents: pip install 'skillkit[openai-agents]'"
    ) from error

from skillkit.disclosure import Disclosure, Insertion, Tool, with_insertions
from skillkit.integrations.conversation import Conversation

__all__ = ["SkillAgent", "add_skills", "skill_input_filter"]

ConversationOf = Callable[[Any], Conversation]
"""Returns the conversation that a run belongs to, by the context of the run."""

_FILTERED: WeakSet[Conversation | ConversationOf] = WeakSet()
"""Conversations whose texts are put among the messages, so that the prompt need not carry them."""


def skill_input_filter(
    conversation: Conversation | ConversationOf, *, elsewhere: bool = False
) -> CallModelInputFilter:
    """`call_model_input_filter` for a RunConfig: puts the texts of skills among the messages of each request.

    `conversation` is what the agent has. `elsewhere` says that the service keeps the conversation
    (`conversation_id`, `previous_response_id`).
    """

    async def extend(data: CallModelData[Any]) -> ModelInputData:
        items, talk = data.model_data.input, _conversation(conversation, data.context)
        insertions = await talk.insertions(items, talk.disclosed_note(), elsewhere=elsewhere)
        data.model_data.input = with_insertions(items, insertions, _as_item)
        return data.model_data

    _FILTERED.add(conversation)
    return extend


@dataclass
class SkillAgent(Agent[TContext]):
    """An agent with skills; its tools follow the skills as they become active.

    Run it with `RunConfig(call_model_input_filter=skill_input_filter(conversation))`: then its prompt is
    the same in every request.

    `conversation` is the only one that the agent has, or a function that returns that of a run by the
    run's context.
    """

    conversation: Conversation | ConversationOf | None = None

    async def get_system_prompt(self, run_context: RunContextWrapper[TContext]) -> str | None:
        prompt = await super().get_system_prompt(run_context)
        if self.conversation is None:
            return prompt
        filtered = self.conversation in _FILTERED
        conversation = _conversation(self.conversation, run_context.context)
        disclosure = await _disclosed(conversation, run_context, filtered=filtered)
        text = disclosure.instructions if filtered else disclosure.everything
        return "\n\n".join(part for part in (prompt, text) if part)

    async def get_all_tools(self, run_context: RunContextWrapper[TContext]) -> list[SdkTool]:
        tools = await super().get_all_tools(run_context)
        if self.conversation is None:
            return tools
        conversation = _conversation(self.conversation, run_context.context)
        # The SDK asks for the tools before the prompt, and what matches brings tools along.
        disclosure = await _disclosed(conversation, run_context, filtered=self.conversation in _FILTERED)
        return [*tools, *(_function_tool(conversation, tool) for tool in disclosure.tools)]


def add_skills(agent: Agent[TContext], conversation: Conversation | ConversationOf) -> SkillAgent[TContext]:
    """A SkillAgent with everything that `agent` has."""
    own = {field.name: getattr(agent, field.name) for field in fields(agent)}
    return SkillAgent(**{**own, "conversation": conversation})


def _conversation(given: Conversation | ConversationOf, context: object) -> Conversation:
    return given if isinstance(given, Conversation) else given(context)


async def _disclosed(
    conversation: Conversation, context: RunContextWrapper[Any], *, filtered: bool
) -> Disclosure:
    """What a request is given; the SDK shows all that the model will see in the first request of a run."""
    seen, requests = context.turn_input, context.usage.requests
    return await conversation.adisclose_once(
        (_Same(seen), requests),
        seen,
        whole_history=bool(seen) and requests == 0 and not filtered,
        elsewhere=filtered,
    )


def _as_item(insertion: Insertion) -> TResponseInputItem:
    return {"role": "user", "content": insertion.text}


class _Same:
    """Equal to itself and to what holds the very same object."""

    def __init__(self, held: object) -> None:
        self.held = held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.held is self.held

    __hash__ = None  # type: ignore[assignment]


def _function_tool(conversation: Conversation, tool: Tool) -> FunctionTool:
    async def invoke(context: ToolContext[Any], arguments: str) -> str:
        # The SDK has asked for approval before it comes here.
        result = await conversation.call(tool.name, arguments, approved=True)
        if result.failed and (span := get_current_span()) is not None:
            # Its messages have no flag for a failure; the span of the call is what says so.
            span.set_error(SpanError(message="The tool failed", data={"tool": tool.name}))
        return result.text

    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=dict(tool.parameters),
        on_invoke_tool=invoke,
        strict_json_schema=False,
        needs_approval=tool.asks,
    )
