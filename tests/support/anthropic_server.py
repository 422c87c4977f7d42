"""Anthropic's Messages, streamed or in one."""

import json
from collections.abc import Iterator
from typing import Any

from model_server import (
    USAGE_IN,
    USAGE_OUT,
    CallTool,
    Fail,
    ModelServer,
    Recorded,
    Say,
    event,
    unpaired,
    words,
)

KINDS = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}


class AnthropicRequest(Recorded):
    @property
    def system(self) -> str:
        system = self.body.get("system", "")
        return system if isinstance(system, str) else "\n".join(block["text"] for block in system)

    @property
    def tools(self) -> list[str]:
        return [tool["name"] for tool in self.body.get("tools", [])]

    @property
    def spoken(self) -> list[tuple[str, str]]:
        return [
            (message["role"], block if isinstance(block, str) else block.get("text") or json.dumps(block))
            for message in self.body["messages"]
            for block in ([message["content"]] if isinstance(message["content"], str) else message["content"])
        ]


class AnthropicServer(ModelServer):
    recorded = AnthropicRequest

    def streams(self, request: Recorded) -> bool:
        return bool(request.body.get("stream"))

    def pieces(self, reply: Say | CallTool, request: Recorded) -> Iterator[bytes]:
        def named(name: str, **data: Any) -> bytes:
            return event({"type": name, **data}, name)

        yield named("message_start", message={**_message(request), "content": [], "stop_reason": None})
        if isinstance(reply, CallTool):
            yield named("content_block_start", index=0, content_block={**_block(reply), "input": {}})
            deltas = [{"type": "input_json_delta", "partial_json": json.dumps(reply.arguments)}]
        else:
            yield named("content_block_start", index=0, content_block={"type": "text", "text": ""})
            deltas = [{"type": "text_delta", "text": word} for word in words(reply.text)]
        for delta in deltas:
            yield named("content_block_delta", index=0, delta=delta)
        yield named("content_block_stop", index=0)
        ended = {"stop_reason": _stop(reply), "stop_sequence": None}
        yield named("message_delta", delta=ended, usage={"output_tokens": USAGE_OUT})
        yield named("message_stop")

    def whole(self, reply: Say | CallTool, request: Recorded) -> dict[str, Any]:
        return {**_message(request), "content": [_block(reply)], "stop_reason": _stop(reply)}

    def objection(self, request: Recorded) -> str | None:
        blocks = [
            block
            for message in request.body["messages"]
            if isinstance(message["content"], list)
            for block in message["content"]
        ]
        calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        return unpaired(calls, [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"])

    def failure(self, reply: Fail) -> dict[str, Any]:
        kind = KINDS.get(reply.status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": reply.message}}


def _message(request: Recorded) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": request.body["model"],
        "stop_sequence": None,
        "usage": {"input_tokens": USAGE_IN, "output_tokens": USAGE_OUT},
    }


def _block(reply: Say | CallTool) -> dict[str, Any]:
    if isinstance(reply, Say):
        return {"type": "text", "text": reply.text}
    return {"type": "tool_use", "id": f"toolu_{reply.name}", "name": reply.name, "input": reply.arguments}


def _stop(reply: Say | CallTool) -> str:
    return "tool_use" if isinstance(reply, CallTool) else "end_turn"
