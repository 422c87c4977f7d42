"""The worked example, against a server on loopback that speaks chat completions."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

EXAMPLE = Path(__file__).parents[3] / "examples" / "openai_compatible.py"


@contextmanager
def endpoint(replies: list[dict[str, Any]], seen: list[dict[str, Any]]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            answer = {"choices": [{"message": {"role": "assistant", **replies[len(seen) - 1]}}]}
            raw = json.dumps(answer).encode()
            self.send_response(200 if self.path == "/v1/chat/completions" else 404)
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def call(name: str, **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"content": None, "tool_calls": [{"id": "call_1", "type": "function", "function": function}]}


def test_the_example_loads_a_skill_and_answers():
    replies = [
        call("load_skill", skill_id="csv-report", arguments="sales.csv"),
        call("read_skill_resource", skill_id="csv-report", path="references/report.md"),
        {"content": "Forty rows, no oddities."},
    ]
    seen: list[dict[str, Any]] = []
    with endpoint(replies, seen) as url:
        done = subprocess.run(
            [sys.executable, EXAMPLE, "Good", "morning"],
            env={**os.environ, "OPENAI_BASE_URL": url, "SKILL_MATCHING_MODE": "lexical"},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.stdout == "Forty rows, no oddities.\n", done.stderr
    first, second, third = seen
    assert first["messages"][-1] == {"role": "user", "content": "Good morning"}
    assert "- csv-report: " in first["messages"][0]["content"]
    assert [tool["function"]["name"] for tool in first["tools"]] == ["load_skill", "read_skill_resource"]
    assert "first 50 rows of sales.csv" in second["messages"][-1]["content"]
    assert second["messages"][-1]["tool_call_id"] == "call_1"
    assert "<skill_resource" in third["messages"][-1]["content"]


def test_without_an_endpoint_it_says_what_to_set():
    environment = {key: value for key, value in os.environ.items() if key != "OPENAI_BASE_URL"}
    done = subprocess.run(
        [sys.executable, EXAMPLE], env=environment, capture_output=True, text=True, check=True
    )
    assert "Set OPENAI_BASE_URL" in done.stdout
