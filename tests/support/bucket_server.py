"""The few calls of an S3-compatible service that a store of trees makes, over real HTTP on loopback."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


class BucketServer(ThreadingHTTPServer):
    """Objects by path; every request must be signed."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.objects: dict[str, bytes] = {}

    @property
    def environment(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.server_port}",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
        }


class _Handler(BaseHTTPRequestHandler):
    server: Any
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = self.server.objects.get(self.path)
        if "AWS4-HMAC-SHA256" not in self.headers.get("Authorization", ""):
            self._answer(403, b"")
        elif body is None:
            self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
        else:
            self._answer(200, body)

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if "AWS4-HMAC-SHA256" not in self.headers.get("Authorization", ""):
            self._answer(403, b"")
        elif self.headers.get("If-None-Match") == "*" and self.path in self.server.objects:
            self._answer(412, b"<Error><Code>PreconditionFailed</Code></Error>")
        else:
            self.server.objects[self.path] = body
            self._answer(200, b"")

    def _answer(self, code: int, body: bytes) -> None:
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", f'"{hashlib.md5(body).hexdigest()}"')
        self.send_header("Last-Modified", "Mon, 16 Nov 2026 00:00:00 GMT")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def running_bucket_server() -> Iterator[BucketServer]:
    server = BucketServer()
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
