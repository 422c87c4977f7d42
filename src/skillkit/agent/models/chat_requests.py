"""What a request of Agent Framework holds for the embedded model: tools, calls and results."""

from collections.abc import Mapping, Sequence
from typing import Any

from agent_framework import FunctionTool, Message

from skillkit.agent.models.constrained import Call, ToolSpec
from skillkit.disclosure.envelope import is_for_model
from skillkit.disclosure.tools import Tool
from skillkit.integrations.agent_framework import INSERTED


def with_skills_in_instructions(
    messages: Sequence[Message], options: Mapping[str, Any]
) -> tuple[list[Message], dict[str, Any]]:
    """The request with skills in its instructions: a small model takes the rest for what was said."""
    inserted = [message.text for message in messages if INSERTED in message.additional_properties]
    said = [message for message in messages if INSERTED not in message.additional_properties]
    texts = [text for text in (str(options.get("instructions") or ""), *inserted) if text]
    return said, {**options, "instructions": "\n\n".join(texts)}


def disclosed(options: Mapping[str, Any]) -> list[ToolSpec]:
    """The tools of this request."""
    if options.get("tool_choice") == "none":
        return []
    tools = options.get("tools") or ()
    return [
        ToolSpec(tool.name, tool.description, tool.parameters(), _about(tool))
        for tool in tools
        if isinstance(tool, FunctionTool)
    ]


def _about(tool: FunctionTool) -> str:
    neutral = getattr(tool, "neutral", None)
    return neutral.about if isinstance(neutral, Tool) else ""


def is_repeated(call: Call, messages: Sequence[Message]) -> bool:
    """Return whether the turn has this call already: the result would be the same."""
    turn: list[tuple[str | None, Any]] = []
    for message in messages:
        if message.role == "user":
            turn.clear()
        calls = (content for content in message.contents if content.type == "function_call")
        turn += [(content.name, content.parse_arguments()) for content in calls]
    return (call.tool, call.arguments) in turn


def last_call(messages: Sequence[Message]) -> Call | None:
    """Return the last call in a conversation."""
    contents = [content for message in messages for content in message.contents]
    calls = [content for content in contents if content.type == "function_call"]
    return Call(str(calls[-1].name), calls[-1].parse_arguments() or {}) if calls else None


def final_result(messages: Sequence[Message]) -> str | None:
    """Return the result of a tool that answers the request, if that is what the conversation ends with."""
    if not messages or messages[-1].role != "tool":
        return None
    results = [str(content.result) for content in messages[-1].contents if content.type == "function_result"]
    return None if not results or is_for_model(results[-1]) else results[-1]
