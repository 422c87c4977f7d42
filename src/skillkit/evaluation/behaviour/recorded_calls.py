"""Model responses recorded one by one: a killed test resumes without repeating a request."""

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from agent_framework import ChatContext, ChatMiddleware, ChatResponse, ChatResponseUpdate, ResponseStream

from skillkit.core.foreign_json import parse_json
from skillkit.evaluation.behaviour.recording import PendingRequest


class RecordedCalls(ChatMiddleware):
    """Appends each complete response to a file, and replays recorded responses in order."""

    def __init__(self, path: Path, pending: PendingRequest | None = None) -> None:
        self.path = path
        self.pending = pending
        """The marker of a request that the service may have answered when this process is killed."""
        self._known = _whole_lines(path)
        self._next = 0

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        number = self._next
        self._next += 1
        if number < len(self._known):
            response: ChatResponse[Any] = ChatResponse.from_dict(self._known[number])
            context.result = _stream(response) if context.stream else response
            return
        if self.pending is not None:
            self.pending.begin()
        await call_next()
        if isinstance(context.result, ResponseStream):
            context.result = context.result.with_result_hook(self._keep)
        elif isinstance(context.result, ChatResponse):
            self._keep(context.result)

    def close(self) -> None:
        """Remove the marker: after an error or a timeout no response is pending."""
        if self.pending is not None:
            self.pending.end()

    def _keep(self, response: ChatResponse[Any]) -> None:
        line = json.dumps(response.to_dict(exclude={"raw_representation"}), default=str) + "\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "ab") as file:
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())
        self.close()


class RecordingClient:
    """A chat client of the framework that passes requests through `recorded` last.

    An agent runs its history after all its own middleware, and the history must see replayed responses too.
    """

    def __init__(self, client: Any, recorded: RecordedCalls) -> None:
        self._client = client
        self._recorded = recorded

    def get_response(
        self, messages: Any, *, client_kwargs: Mapping[str, Any] | None = None, **request: Any
    ) -> Any:
        given = dict(client_kwargs or {})
        given["middleware"] = [*given.get("middleware", ()), self._recorded]
        return self._client.get_response(messages, client_kwargs=given, **request)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)


def _stream(response: ChatResponse[Any]) -> ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
    async def updates() -> AsyncIterator[ChatResponseUpdate]:
        for update in response.to_updates():
            yield update

    return ResponseStream(updates(), finalizer=lambda _: response)


def _whole_lines(path: Path) -> list[dict[str, Any]]:
    """Return the completely written responses; a kill during a write loses only the last one."""
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except OSError:
        return []
    whole = [line for line in lines if line.endswith(b"\n")]
    if len(whole) != len(lines):
        path.write_bytes(b"".join(whole))
    return [parse_json(line) for line in whole]
