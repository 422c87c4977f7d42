"""Middleware that ends or corrects a turn: limits, truncated responses, failed tool calls."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from agent_framework import ChatContext, ChatMiddleware, ChatResponse, Content, FunctionTool, ResponseStream

from skillkit.agent.exceptions import UnfinishedAnswerError
from skillkit.agent.middleware import called_tools
from skillkit.agent.models.provider import ChatProvider
from skillkit.agent.telemetry import Next, Trace


@dataclass
class TurnLimits(ChatMiddleware):
    """Ends a turn before a request that would exceed a limit."""

    trace: Trace
    tool_calls: int
    tokens: int

    async def process(self, context: ChatContext, call_next: Next) -> None:
        steps = self.trace.of_turn
        calls = Counter(name for step in steps for name in step.calls)
        if calls.total() >= self.tool_calls:
            raise self._endless(calls)
        spent = sum(step.tokens.total + step.tokens.output for step in steps if step.tokens is not None)
        if spent >= self.tokens:
            raise UnfinishedAnswerError(
                f"The turn has taken {spent:,} tokens without an answer{_tools(calls)} and was ended; "
                "the limit is the setting turn_tokens: agent config set turn_tokens NUMBER"
            )
        await call_next()

        def check(response: ChatResponse[Any]) -> None:
            """Raise if a response exceeds the limit by itself, before its tool calls run."""
            wanted = calls + Counter(called_tools(response))
            if wanted.total() > self.tool_calls:
                raise self._endless(wanted)

        if isinstance(context.result, ResponseStream):
            context.result = context.result.with_result_hook(check)
        elif isinstance(context.result, ChatResponse):
            check(context.result)

    def _endless(self, calls: "Counter[str]") -> UnfinishedAnswerError:
        [(name, times)] = calls.most_common(1)
        return UnfinishedAnswerError(
            f"The model has called tools {calls.total()} times without an answer, {name} {times} times. "
            "The turn was ended; the limit is the setting tool_calls: agent config set tool_calls NUMBER"
        )


def _tools(calls: "Counter[str]") -> str:
    """Return the name of the tool called most often, if any."""
    return "".join(f", {name} was called {times} times," for name, times in calls.most_common(1))


class ResponseGuard(ChatMiddleware):
    """Ends the turn at an incomplete response, before its tool calls run."""

    def __init__(self, provider: ChatProvider) -> None:
        self.provider = provider
        self._called: tuple[str, ...] = ()
        """The tools called by the previous response."""

    async def process(self, context: ChatContext, call_next: Next) -> None:
        await call_next()
        if isinstance(context.result, ResponseStream):
            context.result = context.result.with_result_hook(self.check)
        elif isinstance(context.result, ChatResponse):
            self.check(context.result)

    def check(self, response: ChatResponse[Any]) -> None:
        """Raise if the response was truncated."""
        why = self.provider.refusal(response) or self._problem(response)
        if why is not None:
            name = self.provider.name
            raise UnfinishedAnswerError(f"The answer of the provider '{name}' is incomplete: {why}")

    def _problem(self, response: ChatResponse[Any]) -> str | None:
        before = "".join(f" after a call of {name}" for name in self._called[-1:])
        self._called = called_tools(response)
        empty = not self._called and not response.text.strip()
        match response.finish_reason:
            case "length":
                return "it reached the output limit. Ask for the rest, or for something shorter"
            case "content_filter":
                return "the provider's filter stopped it. Rephrase the request"
            case None if self.provider.marks_end and empty:
                where = self.provider.shown_address
                return f"no data was received. Try again{where and f', or check whether a model is{where}'}"
            case None if self.provider.marks_end:
                return "the stream ended early. Try again"
            case None | "stop" | "tool_calls" if empty:
                return f"it is empty{before}. Try again, or choose another model: --model NAME"
            case None | "stop" | "tool_calls":
                return None
            case "model_context_window_exceeded":  # Anthropic's wording
                return "the conversation fills the context window. Shorten it with /compact"
            case other:
                return f"the provider ended it with '{other}'. Try again"


FRAMEWORK_ROUNDS = 40
"""The framework's default limit; a smaller limit of a client is kept."""
_TOOLS = " Tools: "


def describe_tool_errors(client: Any, tool_calls: int) -> None:
    """Include error details in a client's tool results, and leave limiting calls to the agent."""
    configuration = getattr(client, "function_invocation_configuration", None)
    if configuration is not None:
        configuration["include_detailed_errors"] = True
        if configuration.get("max_iterations", 0) >= FRAMEWORK_ROUNDS:
            configuration["max_iterations"] = tool_calls + 1


class ToolErrors(ChatMiddleware):
    """Adds the available tool names to errors for calls that the framework could not make; they have no
    code."""

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
