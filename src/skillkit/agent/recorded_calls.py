"""Answers of a model kept on disk one by one: killed work goes on where it was and asks nothing twice."""

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agent_framework import ChatResponse, ChatResponseUpdate, ResponseStream

from skillkit.core.foreign_json import parse_json
from skillkit.evaluation.behaviour.pending import PendingRequest

Answer = Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]


class RecordedCalls:
    """Appends each whole answer to a file, and gives those that are in it again, in their order."""

    def __init__(self, path: Path, pending: PendingRequest | None = None) -> None:
        self.path = path
        self.pending = pending
        """The mark of a request that a service has and may have answered when this process is killed."""
        self._known = _whole_lines(path)
        self._next = 0

    @contextmanager
    def around(self, client: Any) -> Iterator[None]:
        """Stand between the framework and the service for a while.

        At the method that every client of the framework has for it: above it the framework keeps the
        history, which has to see answers that are given again too.
        """
        ask: Callable[..., Answer] = client._inner_get_response

        def answer(*, stream: bool = False, **request: Any) -> Answer:
            number = self._next
            self._next += 1
            if number < len(self._known):
                response: ChatResponse[Any] = ChatResponse.from_dict(self._known[number])
                return _stream(response) if stream else _ready(response)
            if self.pending is not None:
                self.pending.begin()
            asked = ask(stream=stream, **request)
            if isinstance(asked, ResponseStream):
                return asked.with_result_hook(self._keep)
            return self._kept(asked)

        client._inner_get_response = answer
        try:
            yield
        finally:
            del client._inner_get_response
            if self.pending is not None:
                self.pending.end()

    async def _kept(self, asked: Awaitable[ChatResponse[Any]]) -> ChatResponse[Any]:
        response = await asked
        self._keep(response)
        return response

    def _keep(self, response: ChatResponse[Any]) -> None:
        line = json.dumps(response.to_dict(exclude={"raw_representation"}), default=str) + "\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "ab") as file:
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())
        if self.pending is not None:
            self.pending.end()


async def _ready(response: ChatResponse[Any]) -> ChatResponse[Any]:
    return response


def _stream(response: ChatResponse[Any]) -> ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
    async def updates() -> AsyncIterator[ChatResponseUpdate]:
        for update in response.to_updates():
            yield update

    return ResponseStream(updates(), finalizer=lambda _: response)


def _whole_lines(path: Path) -> list[dict[str, Any]]:
    """Return the answers that were written to their end; a kill in the middle costs the last one."""
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except OSError:
        return []
    whole = [line for line in lines if line.endswith(b"\n")]
    if len(whole) != len(lines):
        path.write_bytes(b"".join(whole))
    return [parse_json(line) for line in whole]
