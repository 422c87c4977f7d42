"""What the model reads when it calls a tool wrongly: enough to do it right."""

from typing import Any

from agent_framework import ChatContext, ChatMiddleware, Content, FunctionTool

from skillkit.agent.telemetry import Next

FRAMEWORK_ROUNDS = 40
"""What the framework allows by itself; a client with a smaller number has its reasons."""
_JSON = " Arguments are one JSON object with every required argument."
_NOT_PARSED, _UNKNOWN = "Error: Argument parsing failed", "Error: Requested function "
"""How the framework begins these errors; it gives them no code."""


def describe_tool_errors(client: Any, tool_calls: int) -> None:
    """Let a client of the framework say what is wrong with a call, and leave counting them to the agent."""
    configuration = getattr(client, "function_invocation_configuration", None)
    if configuration is not None:
        configuration["include_detailed_errors"] = True
        if configuration.get("max_iterations", 0) >= FRAMEWORK_ROUNDS:
            configuration["max_iterations"] = tool_calls + 1


class ToolErrors(ChatMiddleware):
    """Adds to the framework's errors what a model needs: which tools there are, what arguments look like."""

    async def process(self, context: ChatContext, call_next: Next) -> None:
        tools = (context.options or {}).get("tools") or ()
        names = ", ".join(tool.name for tool in tools if isinstance(tool, FunctionTool))
        for message in context.messages:
            message.contents = [_explained(content, names) for content in message.contents]
        await call_next()


def _explained(content: Content, names: str) -> Content:
    said = str(content.result or "") if content.type == "function_result" else ""
    if said.startswith(_UNKNOWN) and " Tools: " not in said:
        more = f" Tools: {names or 'none'}."
    elif said.startswith(_NOT_PARSED) and not said.endswith(_JSON):
        more = _JSON
    else:
        return content
    return Content.from_function_result(str(content.call_id), result=said + more, exception=content.exception)
