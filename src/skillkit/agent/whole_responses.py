"""Telling responses of a model that are whole from those that were cut."""

from typing import Any

from agent_framework import ChatContext, ChatMiddleware, ChatResponse, ResponseStream

from skillkit.agent.exceptions import UnfinishedAnswerError
from skillkit.agent.middleware import called_tools
from skillkit.agent.models.provider import ChatProvider
from skillkit.agent.telemetry import Next


class WholeResponses(ChatMiddleware):
    """Ends the turn at a response that is not whole, before a call of a tool in it is taken for one."""

    def __init__(self, provider: ChatProvider) -> None:
        self.provider = provider
        self._called: tuple[str, ...] = ()
        """The tools that the response before called."""

    async def process(self, context: ChatContext, call_next: Next) -> None:
        await call_next()
        if isinstance(context.result, ResponseStream):
            context.result = context.result.with_result_hook(self.check)
        elif isinstance(context.result, ChatResponse):
            self.check(context.result)

    def check(self, response: ChatResponse[Any]) -> None:
        """Raise when the model did not come to an end of its own."""
        why = self.provider.refusal(response) or self._problem(response)
        if why is not None:
            name = self.provider.name
            raise UnfinishedAnswerError(f"The answer of the provider '{name}' is not whole: {why}")

    def _problem(self, response: ChatResponse[Any]) -> str | None:
        before = "".join(f" after a call of {name}" for name in self._called[-1:])
        self._called = called_tools(response)
        empty = not self._called and not response.text.strip()
        match response.finish_reason:
            case "length":
                return "it became longer than the model may write. Ask for the rest, or for something shorter"
            case "content_filter":
                return "the provider's filter stopped it. Say it in other words"
            case None if self.provider.marks_end and empty:
                where = self.provider.shown_address
                return f"nothing of it came. Try again{where and f', or check whether a model is{where}'}"
            case None if self.provider.marks_end:
                return "it stopped without its end mark. Try again"
            case None | "stop" | "tool_calls" if empty:
                return f"it is empty{before}. Try again, or choose another model: --model NAME"
            case None | "stop" | "tool_calls":
                return None
            case "model_context_window_exceeded":  # how Anthropic says it
                return "the conversation is as long as the model can read. Shorten it with /compact"
            case other:
                return f"the provider ended it with '{other}'. Try again"
