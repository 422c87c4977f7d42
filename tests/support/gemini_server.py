"""Gemini's generateContent and streamGenerateContent."""

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

STATES = {400: "INVALID_ARGUMENT", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED"}


class GeminiRequest(Recorded):
    @property
    def system(self) -> str:
        return "\n".join(part["text"] for part in self.body.get("systemInstruction", {}).get("parts", []))

    @property
    def tools(self) -> list[str]:
        return [
            declared["name"]
            for tool in self.body.get("tools", [])
            for declared in tool.get("functionDeclarations", [])
        ]

    @property
    def spoken(self) -> list[tuple[str, str]]:
        return [
            (content["role"], part.get("text") or json.dumps(part))
            for content in self.body["contents"]
            for part in content["parts"]
        ]


class GeminiServer(ModelServer):
    recorded = GeminiRequest

    def streams(self, request: Recorded) -> bool:
        return ":streamGenerateContent" in request.path

    def pieces(self, reply: Say | CallTool, request: Recorded) -> Iterator[bytes]:
        parts = [_call(reply)] if isinstance(reply, CallTool) else [{"text": w} for w in words(reply.text)]
        for place, part in enumerate(parts):
            yield event(_response(part, last=place + 1 == len(parts)))

    def whole(self, reply: Say | CallTool, request: Recorded) -> dict[str, Any]:
        part = _call(reply) if isinstance(reply, CallTool) else {"text": reply.text}
        return _response(part, last=True)

    def objection(self, request: Recorded) -> str | None:
        parts = [part for content in request.body["contents"] for part in content["parts"]]
        calls = [part["functionCall"]["name"] for part in parts if "functionCall" in part]
        return unpaired(calls, [p["functionResponse"]["name"] for p in parts if "functionResponse" in p])

    def failure(self, reply: Fail) -> dict[str, Any]:
        state = STATES.get(reply.status, "INTERNAL")
        return {"error": {"code": reply.status, "message": reply.message, "status": state}}


def _call(reply: CallTool) -> dict[str, Any]:
    return {"functionCall": {"name": reply.name, "args": reply.arguments}}


def _response(part: dict[str, Any], *, last: bool) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": [part]}, "index": 0}
    if last:
        candidate["finishReason"] = "STOP"
    usage = {
        "promptTokenCount": USAGE_IN,
        "candidatesTokenCount": USAGE_OUT,
        "totalTokenCount": USAGE_IN + USAGE_OUT,
    }
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-test"}
