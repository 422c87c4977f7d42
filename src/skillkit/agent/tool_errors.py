"""What the model reads when it calls a tool wrongly: enough to do it right."""

from typing import Any

from agent_framework import ChatContext, ChatMiddleware, Content, FunctionTool

from skillkit.agent.telemetry import Next

FRAMEWORK_ROUNDS = 40
"""What the framework allows by itself; a client with a smaller number has its reasons."""
_TOOLS = " Tools: "


def describe_tool_errors(client: Any, tool_calls: int) -> None:
    """Let a client of the framework say what is wrong with a call, and leave counting them to the agent."""
    configuration = getattr(client, "function_invocation_configuration", None)
    if configuration is not None:
        configuration["include_detailed_errors"] = True
        if configuration.get("max_iterations", 0) >= FRAMEWORK_ROUNDS:
            configuration["max_iterations"] = tool_calls + 1


class ToolErrors(ChatMiddleware):
    """Adds the tools there are to calls that the framework could not make; it gives their errors no code."""

    async def process(self, context: ChatContext, call_next: Next) -> None:
        tools = (context.options or {}).get("tools") or ()
        names = ", ".join(tool.name for tool in tools if isinstance(tool, FunctionTool))
        for message in context.messages:
            message.contents = [_explained(content, names) for content in message.contents]
        await call_next()


def _explained(content: Content, names: str) -> Content:
    said = str(content.result or "")
    if content.type != "function_result" or not content.exception or _TOOLS in said:
        return content
    return Content.from_function_result(
        str(content.call_id), result=f"{said}{_TOOLS}{names or 'none'}.", exception=content.exception
    )
