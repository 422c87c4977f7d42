"""Granted hosts are reached by whatever a script speaks HTTP with, and a secret goes with it, unseen."""

import importlib.util
import os
import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from certificates import certificate

from skillkit.core.models import SecretRequest
from skillkit.scripts import Grants
from skillkit.scripts.network import gateway
from skillkit.scripts.secret_store import SecretStore

pytestmark = pytest.mark.this_machine  # scripts name the folder of the skill by its path here

__all__ = ["certificate"]

VALUE = "sk-live-9090909090909090"
VARIABLES = "SSL_CERT_FILE REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS GIT_SSL_CAINFO PIP_CERT"
PYTHON = """
import os, sys
sys.path.insert(0, sys.argv[1])
url, headers = "https://api.test/x", {"Authorization": "Bearer " + os.environ.get("KEY", "none")}
"""
CLIENTS = {
    "urllib": "import urllib.request as u\nprint(u.urlopen(u.Request(url, headers=headers)).read().decode())",
    "requests": "import requests\nprint(requests.get(url, headers=headers).text)",
    "httpx": "import httpx\nprint(httpx.get(url, headers=headers).text)",
    "aiohttp": """
import aiohttp, asyncio
async def main():
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as answer:
        print(await answer.text())
asyncio.run(main())
""",
    "pip": """
import subprocess
options = ["--no-deps", "--retries=0", "--no-cache-dir", "--disable-pip-version-check"]
pip = [sys.executable, sys.argv[1] + "/pip", "download", *options]
subprocess.run([*pip, "--index-url", "https://api.test/x", "nothing"])
""",
    "curl": 'curl -sS -H "Authorization: Bearer $KEY" https://api.test/x',
    "git": 'git -c http.extraHeader="Authorization: Bearer $KEY" ls-remote https://api.test/x; true',
    "node": """
fetch("https://api.test/x", {headers: {Authorization: "Bearer " + (process.env.KEY || "none")}})
  .then(answer => answer.text()).then(console.log);
""",
}


class Answering(BaseHTTPRequestHandler):
    """Says ok, and keeps what it was asked with."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.seen.append((self.path, self.headers.get("Authorization", "")))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass


@pytest.fixture
def host(certificate, monkeypatch):
    public, context = certificate
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    server.seen = []
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("SSL_CERT_FILE", str(public))
    monkeypatch.setattr(gateway, "resolve", lambda name, port, private: [("127.0.0.1", server.server_port)])
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def scripts(workshop, tmp_path):
    """The calls with some grants and the user's secret."""

    def calls(grants):
        tools = workshop.tools(grants, sandbox="bwrap")
        tools._secrets = SecretStore(tmp_path / "agent")
        tools._secrets.set("KEY", VALUE)
        return tools

    return calls


@pytest.mark.parametrize(
    ("client", "secret"), [(client, secret) for client in CLIENTS for secret in (False, True)]
)
def test_every_client_reaches_what_is_granted(workshop, scripts, host, client, secret):
    library = _library(client)
    suffix = {"curl": "sh", "git": "sh", "node": "js"}.get(client, "py")
    base = workshop.skill()
    shutil.copy(os.environ["SSL_CERT_FILE"], base / "authority.pem")
    # Where TLS passes through, the script has to trust the server of this test by itself.
    named = {} if secret else dict.fromkeys(VARIABLES.split(), str(base / "authority.pem"))
    exports = "".join(f"export {name}={value}\n" for name, value in named.items())
    if suffix == "sh":
        code = exports + CLIENTS[client]
    else:
        (base / "scripts" / f"client.{suffix}").write_text(
            (PYTHON if suffix == "py" else "") + CLIENTS[client]
        )
        program = "node" if suffix == "js" else "python3"
        code = f'{exports}exec {program} "$SKILL_BASE_DIR/scripts/client.{suffix}" {library or base}\n'
    (base / "scripts" / "start.sh").write_text(code)
    grants = Grants(
        hosts=() if secret else ("api.test",),
        secrets=(SecretRequest("KEY", ("api.test",)),) if secret else (),
        read_paths=(library,) if library else (),
    )
    answer = scripts(grants).script_run("demo", "start", json=False)
    assert host.seen, answer
    path, key = host.seen[0]
    assert path.startswith("/x")
    assert "api.test" in {each["host"] for each in answer["meta"]["network"] if each["allowed"]}
    if client not in ("git", "pip"):  # which want more than two letters
        assert answer["result"].strip() == "ok"
    if secret and client != "pip":  # which sends no header of ours
        assert key == f"Bearer {VALUE}"
    assert VALUE not in str(answer)


def _library(client: str) -> Path | None:
    """Where the package of a client is; skips what is not installed here."""
    if client in ("curl", "git", "node"):
        if shutil.which(client) is None:
            pytest.skip(f"{client} is not installed")
        return None
    if client == "urllib":
        return None
    found = importlib.util.find_spec(client)
    if found is None or found.origin is None:
        pytest.skip(f"{client} is not installed")
    return Path(found.origin).resolve().parents[1]
