"""Skills for the OpenAI Agents SDK: tools, dynamic instructions, and an agent that has both."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

try:
    from agents import Agent, FunctionTool, RunContextWrapper, TContext, TResponseInputItem
    from agents.run_config import CallModelData, CallModelInputFilter, ModelInputData
    from agents.tool import Tool as SdkTool
    from agents.tool_context import ToolContext
except ImportError as error:
    raise ImportError(
        "The OpenAI Agents integration needs openai-agents: pip install 'skillkit[openai-agents]'"
    ) from error

from skillkit.disclosure import Disclosure, Insertion, Tool, with_insertions
from skillkit.integrations.conversation import Conversation

__all__ = ["SkillAgent", "skill_input_filter", "skill_instructions", "skill_tools"]

Instructions = Callable[[RunContextWrapper[Any], Agent[Any]], Awaitable[str]]

_FILTERED: WeakSet[Conversation] = WeakSet()
"""Conversations whose texts are put among the messages, so that the prompt need not carry them."""


def skill_tools(conversation: Conversation) -> list[FunctionTool]:
    """The tools of `conversation` as they are at this moment."""
    return [_function_tool(conversation, tool) for tool in conversation.tools()]


def skill_instructions(conversation: Conversation, prompt: str = "") -> Instructions:
    """`instructions` for an Agent: `prompt` and the list of skills.

    Without `skill_input_filter` the texts of skills follow there, anew for every request.
    """

    async def instructions(context: RunContextWrapper[Any], agent: Agent[Any]) -> str:
        disclosure = await _disclosed(conversation, context)
        filtered = conversation in _FILTERED
        text = disclosure.instructions if filtered else disclosure.everything
        return "\n\n".join(part for part in (prompt, text) if part)

    return instructions


def skill_input_filter(conversation: Conversation, *, elsewhere: bool = False) -> CallModelInputFilter:
    """`call_model_input_filter` for a RunConfig: puts the texts of skills among the messages of each request.

    `elsewhere` says that the service keeps the conversation (`conversation_id`, `previous_response_id`).
    """

    async def extend(data: CallModelData[Any]) -> ModelInputData:
        items = data.model_data.input
        disclosure = await conversation.adisclose(items, whole_history=not elsewhere, elsewhere=elsewhere)
        data.model_data.input = with_insertions(items, disclosure.insertions, _as_item)
        return data.model_data

    _FILTERED.add(conversation)
    return extend


@dataclass
class SkillAgent(Agent[TContext]):
    """An agent with the skills of one conversation; its tools follow the skills as they become active.

    Run it with `RunConfig(call_model_input_filter=skill_input_filter(conversation))`: then its prompt is
    the same in every request.
    """

    conversation: Conversation | None = None

    async def get_system_prompt(self, run_context: RunContextWrapper[TContext]) -> str | None:
        prompt = await super().get_system_prompt(run_context)
        if self.conversation is None:
            return prompt
        return await skill_instructions(self.conversation, prompt or "")(run_context, self)

    async def get_all_tools(self, run_context: RunContextWrapper[TContext]) -> list[SdkTool]:
        tools = await super().get_all_tools(run_context)
        if self.conversation is None:
            return tools
        # The SDK asks for the tools before the prompt, and what matches brings tools along.
        disclosure = await _disclosed(self.conversation, run_context)
        return [*tools, *(_function_tool(self.conversation, tool) for tool in disclosure.tools)]


async def _disclosed(conversation: Conversation, context: RunContextWrapper[Any]) -> Disclosure:
    """What a request is given; the SDK shows all that the model will see in the first request of a run."""
    seen, filtered = context.turn_input, conversation in _FILTERED
    whole = bool(seen) and context.usage.requests == 0 and not filtered
    return await conversation.adisclose(seen, whole_history=whole, elsewhere=filtered)


def _as_item(insertion: Insertion) -> TResponseInputItem:
    return {"role": "user", "content": insertion.text}


def _function_tool(conversation: Conversation, tool: Tool) -> FunctionTool:
    async def invoke(context: ToolContext[Any], arguments: str) -> str:
        # The SDK has asked for approval before it comes here.
        return (await conversation.call(tool.name, arguments, approved=True)).text

    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=dict(tool.parameters),
        on_invoke_tool=invoke,
        strict_json_schema=False,
        needs_approval=tool.asks,
    )
