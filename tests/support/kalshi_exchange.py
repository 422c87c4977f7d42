"""An exchange on loopback that answers like Kalshi's API and records what was asked."""

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import parse_qs, urlsplit


@dataclass
class Answer:
    """What the server says to one request."""

    body: object = field(default_factory=dict)
    """Text or bytes as they are, anything else as JSON."""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    hangs: bool = False


class Exchange:
    """The answers by path, in order, the last one for ever; and what was asked."""

    def __init__(self) -> None:
        self.answers: dict[str, list[Answer]] = {}
        self.requests: list[tuple[str, dict[str, str]]] = []
        self._closing = threading.Event()

    def __enter__(self) -> Self:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                owner._answer(self)

            def log_message(self, format: str, *arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/trade-api/v2"

    def says(self, path: str, *answers: object) -> None:
        wrapped = [answer if isinstance(answer, Answer) else Answer(answer) for answer in answers]
        self.answers[path] = wrapped

    def _next(self, path: str, query: dict[str, str]) -> Answer:
        self.requests.append((path, query))
        waiting = self.answers.get(path)
        if waiting is None:
            return Answer({"error": {"code": "not_found", "message": "not found"}}, 404)
        return waiting.pop(0) if len(waiting) > 1 else waiting[0]

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(handler.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        answer = self._next(parts.path.removeprefix("/trade-api/v2"), query)
        if answer.hangs:
            self._closing.wait()
            handler.close_connection = True
            return
        body = answer.body if isinstance(answer.body, (str, bytes)) else json.dumps(answer.body)
        content = body.encode() if isinstance(body, str) else body
        handler.send_response(answer.status)
        for name, value in {"Content-Type": "application/json", **answer.headers}.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)
