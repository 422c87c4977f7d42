"""Asking a busy service again: the user is told why nothing happens and for how long."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from agent_framework import ChatContext, ChatMiddleware, ChatResponse, ChatResponseUpdate, ResponseStream

from skillkit.agent.models.failures import is_out_of_quota, is_unreachable, seconds_until_retry, status_of
from skillkit.agent.telemetry import Next

ATTEMPTS = 3
MOST_SECONDS = 60.0
"""A service that wants a longer pause is not waited for."""
_BUSY = {
    408: "is slow",
    429: "limits how often it can be asked",
    503: "is overloaded",
    529: "is overloaded",
}


class RetryingRequests(ChatMiddleware):
    """Repeats a request that was refused for the moment, as long as nothing of its answer has come."""

    def __init__(self, provider: str, report: Callable[[str], object]) -> None:
        self.provider = provider
        self.report = report

    async def process(self, context: ChatContext, call_next: Next) -> None:
        if context.stream:
            stream = _RepeatedStream(self, context, call_next)
            context.result = ResponseStream(stream.updates(), finalizer=stream.response)
            return
        messages = context.messages
        for attempt in range(ATTEMPTS):
            try:
                context.messages = messages  # those that came before are added further down, each time
                await call_next()
            except Exception as error:
                await self.pause(error, attempt)
            else:
                return

    async def pause(self, error: Exception, attempt: int) -> None:
        """Wait before the next attempt; raise the error again when there is to be none."""
        seconds = _pause_after(error, attempt)
        if seconds is None or seconds > MOST_SECONDS or attempt + 1 == ATTEMPTS:
            raise error
        status = status_of(error)
        if status is not None:
            reason = _BUSY.get(status, f"has a problem of its own ({status})")
            self.report(f"{self.provider} {reason}, waiting {seconds:.2g} s")
        await asyncio.sleep(seconds)


class _RepeatedStream:
    """The stream of the attempt that succeeds, with the response that its own hooks make of it."""

    def __init__(self, retrying: RetryingRequests, context: ChatContext, call_next: Next) -> None:
        self.retrying = retrying
        self.context = context
        self.call_next = call_next
        self._latest: ResponseStream[ChatResponseUpdate, ChatResponse[Any]] | None = None

    async def updates(self) -> AsyncIterator[ChatResponseUpdate]:
        messages = self.context.messages
        for attempt in range(ATTEMPTS):
            begun = False
            try:
                self.context.messages = messages
                await self.call_next()
                assert isinstance(self.context.result, ResponseStream)
                self._latest = self.context.result
                async for update in self._latest:
                    begun = True
                    yield update
            except Exception as error:
                if begun:
                    raise
                await self.retrying.pause(error, attempt)
            else:
                return

    async def response(self, updates: Sequence[ChatResponseUpdate]) -> ChatResponse[Any]:
        assert self._latest is not None
        return await self._latest.get_final_response()


def _pause_after(error: Exception, attempt: int) -> float | None:
    """Return the seconds that the service asks for, or more with every attempt; None for no other attempt."""
    status = status_of(error)
    if status is None and not is_unreachable(error):
        return None
    if status is not None and status not in _BUSY and status < 500:
        return None
    asked_for = seconds_until_retry(error)
    if asked_for is not None:
        return asked_for
    return None if is_out_of_quota(error) else 0.5 * 2.0**attempt
