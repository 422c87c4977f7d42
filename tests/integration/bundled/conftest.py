"""An exchange on loopback that answers like Kalshi's API, and the bundled scripts run against it."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

import skillkit

BUNDLED = Path(skillkit.__file__).parent / "bundled"


@dataclass
class Answer:
    """What the server says to one request."""

    body: object = field(default_factory=dict)
    """Text or bytes as they are, anything else as JSON."""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    hangs: bool = False


@dataclass
class Exchange:
    """The answers by path, in order, the last one for ever; and what was asked."""

    url: str
    answers: dict[str, list[Answer]] = field(default_factory=dict)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    def says(self, path: str, *answers: object) -> None:
        wrapped = [answer if isinstance(answer, Answer) else Answer(answer) for answer in answers]
        self.answers[path] = wrapped

    def next(self, path: str, query: dict[str, str]) -> Answer:
        self.requests.append((path, query))
        waiting = self.answers.get(path)
        if waiting is None:
            return Answer({"error": {"code": "not_found", "message": "not found"}}, 404)
        return waiting.pop(0) if len(waiting) > 1 else waiting[0]


@pytest.fixture
def exchange() -> Iterator[Exchange]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            answer = state.next(parts.path.removeprefix("/trade-api/v2"), query)
            if answer.hangs:
                state.closing.wait()
                self.close_connection = True
                return
            body = answer.body if isinstance(answer.body, (str, bytes)) else json.dumps(answer.body)
            content = body.encode() if isinstance(body, str) else body
            self.send_response(answer.status)
            for name, value in {"Content-Type": "application/json", **answer.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state = Exchange(f"http://127.0.0.1:{server.server_port}/trade-api/v2")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield state
    state.closing.set()
    server.shutdown()
    server.server_close()
    thread.join()


@dataclass
class Ran:
    """How a script ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, object]:
        """Standard output, which must be one JSON object and nothing else."""
        value = json.loads(self.out)
        assert isinstance(value, dict)
        return value


Run = Callable[..., Ran]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a bundled script: `run("kalshi-markets/status", "--json", KALSHI_API_URL=…)`."""

    def run(script: str, *arguments: str, **environment: str) -> Ran:
        skill, _, name = script.partition("/")
        path = BUNDLED / skill / "scripts" / f"{name}.py"
        kept = {key: value for key, value in os.environ.items() if key.startswith("COVERAGE")}
        answer = subprocess.run(
            [sys.executable, "-B", path, *arguments],
            capture_output=True,
            cwd=path.parent,
            env={"PATH": os.environ["PATH"], "TMPDIR": str(tmp_path), **kept, **environment},
            stdin=subprocess.DEVNULL,
            check=False,
            timeout=60,
        )
        return Ran(answer.returncode, answer.stdout.decode(), answer.stderr.decode())

    return run


@pytest.fixture
def kalshi(run: Run, exchange: Exchange) -> Run:
    """Run a script of kalshi-markets against the exchange: `kalshi("market", "KXA-1", "--json")`."""

    def kalshi(script: str, *arguments: str, **environment: str) -> Ran:
        return run(f"kalshi-markets/{script}", *arguments, **{"KALSHI_API_URL": exchange.url, **environment})

    return kalshi


@pytest.fixture
def answer() -> type[Answer]:
    return Answer
