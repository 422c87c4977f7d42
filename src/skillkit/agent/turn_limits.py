"""How much one turn may take: calls of tools without an answer, and tokens."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from agent_framework import ChatContext, ChatMiddleware, ChatResponse, ResponseStream

from skillkit.agent.exceptions import UnfinishedAnswerError
from skillkit.agent.middleware import called_tools
from skillkit.agent.telemetry import Next, Trace


@dataclass
class TurnLimits(ChatMiddleware):
    """Ends a turn before the request that would go beyond a limit; `begin` starts a turn."""

    trace: Trace
    tool_calls: int
    tokens: int
    _first: int = field(default=0, init=False)

    def begin(self) -> None:
        self._first = len(self.trace.steps)

    async def process(self, context: ChatContext, call_next: Next) -> None:
        steps = self.trace.steps[self._first :]
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
            """Make none of the calls of a response that alone goes beyond the limit."""
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
    """Which tool the turn went on, where there was one."""
    return "".join(f", {name} was called {times} times," for name, times in calls.most_common(1))
