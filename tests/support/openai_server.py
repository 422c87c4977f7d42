"""OpenAI's chat completions, which Azure and Ollama speak too."""

import json
from collections.abc import Iterator
from typing import Any

from model_server import (
    USAGE_IN,
    USAGE_OUT,
    CallTool,
    Fail,
    ModelServer,
    Raw,
    Recorded,
    Reply,
    Say,
    event,
    unpaired,
    words,
)

__all__ = ["CallTool", "Fail", "OpenAIServer", "Raw", "Recorded", "Reply", "Say"]

USAGE = {
    "prompt_tokens": USAGE_IN,
    "completion_tokens": USAGE_OUT,
    "total_tokens": USAGE_IN + USAGE_OUT,
}


class OpenAIRequest(Recorded):
    @property
    def system(self) -> str:
        return "\n".join(
            _text(message) for message in self.body["messages"] if message["role"] in ("system", "developer")
        )

    @property
    def tools(self) -> list[str]:
        return [tool["function"]["name"] for tool in self.body.get("tools", [])]

    @property
    def spoken(self) -> list[tuple[str, str]]:
        return [
            (message["role"], _text(message))
            for message in self.body["messages"]
            if message["role"] not in ("system", "developer")
        ]


class OpenAIServer(ModelServer):
    recorded = OpenAIRequest

    @property
    def url(self) -> str:
        return f"{self.address}/v1"

    def streams(self, request: Recorded) -> bool:
        return bool(request.body.get("stream"))

    def pieces(self, reply: Say | CallTool, request: Recorded) -> Iterator[bytes]:
        frame = {"id": "chat-1", "object": "chat.completion.chunk", "created": 1, "model": _model(request)}
        if isinstance(reply, CallTool):
            deltas: list[dict[str, Any]] = [{"role": "assistant", "tool_calls": [_call(reply)]}]
        else:
            deltas = [{"role": "assistant", "content": word} for word in words(reply.text)]
        for delta in deltas:
            yield event({**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        if isinstance(reply, Say) and reply.finish is None:
            return
        yield event({**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": _finish(reply)}]})
        if isinstance(reply, CallTool) or reply.usage:
            yield event({**frame, "choices": [], "usage": USAGE})
        yield b"data: [DONE]\n\n"

    def whole(self, reply: Say | CallTool, request: Recorded) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": getattr(reply, "text", None)}
        if isinstance(reply, CallTool):
            message["tool_calls"] = [_call(reply)]
        return {
            "id": "chat-1",
            "object": "chat.completion",
            "created": 1,
            "model": _model(request),
            "choices": [{"index": 0, "message": message, "finish_reason": _finish(reply)}],
            "usage": USAGE,
        }

    def objection(self, request: Recorded) -> str | None:
        messages = request.body["messages"]
        calls = [call["id"] for message in messages for call in message.get("tool_calls") or ()]
        return unpaired(calls, [said["tool_call_id"] for said in messages if said["role"] == "tool"])

    def failure(self, reply: Fail) -> dict[str, Any]:
        return {"error": {"message": reply.message, "code": reply.code}}


def _model(request: Recorded) -> str:
    return str(request.body.get("model", "test"))


def _finish(reply: Say | CallTool) -> str:
    return "tool_calls" if isinstance(reply, CallTool) else str(reply.finish)


def _call(reply: CallTool) -> dict[str, Any]:
    return {
        "index": 0,
        "id": f"call_{reply.name}",
        "type": "function",
        "function": {"name": reply.name, "arguments": _arguments(reply)},
    }


def _arguments(reply: CallTool) -> str:
    return reply.arguments if isinstance(reply.arguments, str) else json.dumps(reply.arguments)


def _text(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content)
    return content or ""
