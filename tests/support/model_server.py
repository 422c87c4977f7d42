"""A real HTTP server on loopback in the place of a model: it answers as told and records requests."""

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

USAGE_IN, USAGE_OUT = 123, 7


@dataclass(frozen=True)
class Say:
    """Answer with text."""

    text: str
    usage: bool = True
    finish: str | None = "stop"
    """Why it ends, as the service says it; None ends the stream without its end mark."""


@dataclass(frozen=True)
class CallTool:
    """Answer with the call of a tool; arguments as text need not be JSON."""

    name: str
    arguments: dict[str, Any] | str


@dataclass(frozen=True)
class Fail:
    """Answer with an error; `wait` is what the service asks for, in seconds, None for nothing."""

    status: int
    message: str = "no"
    wait: float | None = 0.001
    code: str | None = None


@dataclass(frozen=True)
class Raw:
    """Answer with these bytes, as a service may that is old, new or no model at all."""

    body: bytes
    status: int = 200
    kind: str = "text/event-stream"
    headers: dict[str, str] = field(default_factory=dict)


Reply = Say | CallTool | Fail | Raw


class Recorded(ABC):
    """A request as the server saw it."""

    def __init__(self, path: str, body: dict[str, Any]) -> None:
        self.path = path
        self.body = body

    @property
    @abstractmethod
    def system(self) -> str: ...

    @property
    @abstractmethod
    def tools(self) -> list[str]: ...

    @property
    @abstractmethod
    def spoken(self) -> list[tuple[str, str]]:
        """Who said what; for calls of tools and their results, as JSON."""

    @property
    def given(self) -> str:
        """All that the model is given to read, wherever it stands."""
        return "\n".join([self.system, *(text for _, text in self.spoken)])


class ModelServer(ABC):
    """Gives the replies it was told in order, then `Say("OK")` for ever; one subclass a protocol."""

    recorded: type[Recorded]
    models: tuple[str, ...] = ("test",)

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.replies: list[Reply] = []
        self.before: Callable[[], object] = lambda: None
        """Called when a request has arrived, before it is answered."""
        self.between: Callable[[int], object] = lambda number: None
        """Called before each piece of a streamed answer with its number."""
        self.chunked = False
        """Whether streams are chunked, and cut in the middle of their chunks: the last one never comes."""
        self._lock = threading.Lock()

    @abstractmethod
    def streams(self, request: Recorded) -> bool:
        """Whether the answer is to come in pieces."""

    @abstractmethod
    def pieces(self, reply: Say | CallTool, request: Recorded) -> Iterable[bytes]:
        """The answer as server-sent events."""

    @abstractmethod
    def whole(self, reply: Say | CallTool, request: Recorded) -> dict[str, Any]:
        """The answer in one."""

    def objection(self, request: Recorded) -> str | None:
        """Why the real service would refuse the request."""
        return None

    @abstractmethod
    def failure(self, reply: Fail) -> dict[str, Any]:
        """The body of an error."""

    def __enter__(self) -> Self:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                """What Ollama lists; the others are never asked."""
                _send(self, 200, {"models": [{"name": name} for name in owner.models]})

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                request = owner.recorded(self.path, body)
                with owner._lock:
                    owner.requests.append(request)
                    reply = owner.replies.pop(0) if owner.replies else Say("OK")
                owner.before()
                if (objection := owner.objection(request)) is not None:
                    reply = Fail(400, objection)
                try:
                    owner._answer(self, request, reply)
                except OSError:
                    self.close_connection = True

            def log_message(self, *_: object) -> None:
                pass

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def _answer(self, handler: BaseHTTPRequestHandler, request: Recorded, reply: Reply) -> None:
        if isinstance(reply, Fail):
            waiting = {} if reply.wait is None else {"retry-after-ms": f"{reply.wait * 1000:.0f}"}
            _send(handler, reply.status, self.failure(reply), waiting)
        elif isinstance(reply, Raw):
            _write(handler, reply.status, reply.body, {"Content-Type": reply.kind, **reply.headers})
        elif self.streams(request):
            handler.send_response(200)
            handler.send_header("Content-Type", "text/event-stream")
            handler.send_header("Connection", "close")
            if self.chunked:
                handler.send_header("Transfer-Encoding", "chunked")
            handler.end_headers()
            for number, piece in enumerate(self.pieces(reply, request)):
                self.between(number)
                handler.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if self.chunked else piece)
            handler.close_connection = True
        else:
            _send(handler, 200, self.whole(reply, request))


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that has gone is nothing to write about."""


def event(data: dict[str, Any], name: str = "") -> bytes:
    """A server-sent event."""
    lines = [f"event: {name}"] if name else []
    return "\n".join([*lines, f"data: {json.dumps(data)}", "", ""]).encode()


def unpaired(calls: Iterable[str], results: Iterable[str]) -> str | None:
    """What services object to: a call of a tool without its result, or the other way round."""
    odd = sorted({*calls} ^ {*results})
    return f"Calls of tools and their results do not belong together: {odd}" if odd else None


def words(text: str) -> list[str]:
    """The text in the pieces that a stream gives."""
    parts = text.split(" ")
    return [word + " " * (place + 1 < len(parts)) for place, word in enumerate(parts)]


def _send(
    handler: BaseHTTPRequestHandler, status: int, body: dict[str, Any], headers: dict[str, str] | None = None
) -> None:
    _write(
        handler, status, json.dumps(body).encode(), {"Content-Type": "application/json", **(headers or {})}
    )


def _write(handler: BaseHTTPRequestHandler, status: int, data: bytes, headers: dict[str, str]) -> None:
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(data)))
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(data)
