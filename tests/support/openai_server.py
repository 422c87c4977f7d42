"""A real HTTP server on loopback that speaks OpenAI's chat protocol, answers as told and records requests."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True)
class Say:
    """Answer with text."""

    text: str
    usage: bool = True


@dataclass(frozen=True)
class CallTool:
    """Answer with the call of a tool."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Fail:
    """Answer with an error."""

    status: int
    message: str = "no"


Reply = Say | CallTool | Fail


class Recorded:
    """A request as the server saw it."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.body = body

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


class OpenAIServer:
    """Gives the replies it was told in order, then `Say("OK")` for ever."""

    def __init__(self) -> None:
        self.requests: list[Recorded] = []
        self.replies: list[Reply] = []
        self.before: Callable[[], object] = lambda: None
        """Called when a request has arrived, before it is answered."""
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with owner._lock:
                    owner.requests.append(Recorded(body))
                    reply = owner.replies.pop(0) if owner.replies else Say("OK")
                owner.before()
                try:
                    owner._answer(self, body, reply)
                except OSError:
                    self.close_connection = True

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def _answer(self, handler: BaseHTTPRequestHandler, body: dict[str, Any], reply: Reply) -> None:
        if isinstance(reply, Fail):
            _send(handler, reply.status, json.dumps({"error": {"message": reply.message}}).encode())
            return
        chunks = _chunks(reply, body.get("model", "test"))
        if body.get("stream"):
            data = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)
            _send(handler, 200, data + b"data: [DONE]\n\n", "text/event-stream")
        else:
            _send(handler, 200, json.dumps(_whole(reply, body.get("model", "test"))).encode())


def _send(handler: BaseHTTPRequestHandler, status: int, data: bytes, kind: str = "application/json") -> None:
    handler.send_response(status)
    handler.send_header("Content-Type", kind)
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)


USAGE = {"prompt_tokens": 123, "completion_tokens": 7, "total_tokens": 130}


def _call(reply: CallTool) -> dict[str, Any]:
    return {
        "index": 0,
        "id": f"call_{reply.name}",
        "type": "function",
        "function": {"name": reply.name, "arguments": json.dumps(reply.arguments)},
    }


def _chunks(reply: Say | CallTool, model: str) -> list[dict[str, Any]]:
    frame = {"id": "chat-1", "object": "chat.completion.chunk", "created": 1, "model": model}
    if isinstance(reply, CallTool):
        deltas: list[dict[str, Any]] = [{"role": "assistant", "tool_calls": [_call(reply)]}]
        finish = "tool_calls"
    else:
        words = reply.text.split(" ")
        deltas = [
            {"role": "assistant", "content": word + (" " * (i + 1 < len(words)))}
            for i, word in enumerate(words)
        ]
        finish = "stop"
    chunks = [{**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    if isinstance(reply, CallTool) or reply.usage:
        chunks.append({**frame, "choices": [], "usage": USAGE})
    return chunks


def _whole(reply: Say | CallTool, model: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": getattr(reply, "text", None)}
    if isinstance(reply, CallTool):
        message["tool_calls"] = [_call(reply)]
    finish = "tool_calls" if isinstance(reply, CallTool) else "stop"
    return {
        "id": "chat-1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": USAGE,
    }


def _text(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content)
    return content or ""
