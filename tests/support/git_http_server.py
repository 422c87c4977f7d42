"""A real git server over HTTP on loopback: the standard library in front of `git http-backend`."""

import os
import subprocess
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self


class GitServer:
    """Serves every repository beneath `root`; counts what it sends."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.sent = 0
        self.requests: list[str] = []
        self.protocol = ""
        """Set to `version=0` to be a server of long ago."""
        self.refuse: Callable[[BaseHTTPRequestHandler], bool] = lambda handler: False
        """May answer a request itself; True means it did."""

    def __enter__(self) -> Self:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.0"

            def do_GET(self) -> None:
                owner.answer(self)

            def do_POST(self) -> None:
                owner.answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        self.requests.append(handler.path)
        if self.refuse(handler):
            return
        path, _, query = handler.path.partition("?")
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        if handler.headers.get("Content-Encoding") == "gzip":
            import gzip

            body = gzip.decompress(body)
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": handler.command,
            "CONTENT_TYPE": handler.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "REMOTE_ADDR": "127.0.0.1",
            "GIT_PROTOCOL": self.protocol or handler.headers.get("Git-Protocol", ""),
        }
        done = subprocess.run(
            ["git", "http-backend"], env=environment, input=body, capture_output=True, check=False
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        status = 200
        headers = []
        for line in head.decode("latin-1").split("\r\n"):
            name, _, value = line.partition(": ")
            if name == "Status":
                status = int(value.split()[0])
            elif name:
                headers.append((name, value))
        handler.send_response(status)
        for name, value in headers:
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)
        self.sent += len(content)
