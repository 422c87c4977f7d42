"""What hosts by name cost a script, beside the same script with the whole network granted.

python3 dev.py bench gateway [RUNS]
"""

import argparse
import http.server
import json
import multiprocessing
import os
import ssl
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from benchmarks.measure import table
from skillkit import SkillManager
from skillkit.core.authority import DefaultAuthority, Requester
from skillkit.core.models import SecretRequest, SkillMetadata
from skillkit.scripts import Grants, LocalRunner, ScriptTools
from skillkit.scripts.secret_store import SecretStore

MIB = 1 << 20
LARGE = 100 * MIB
REQUESTS = """
import http.client, json, os, ssl, sys, time
port, count = int(sys.argv[1]), 100
tls = None
if len(sys.argv) > 2 and sys.argv[2] != "--json":
    tls = ssl.create_default_context()
    tls.load_verify_locations(cadata=sys.argv[2])
key = {"Authorization": os.environ["KEY"]} if "KEY" in os.environ else {}
def connect():
    if tls is None:
        return http.client.HTTPConnection("localhost", port)
    return http.client.HTTPSConnection("localhost", port, context=tls)
def timed(action):
    times = []
    for _ in range(count):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return sorted(times)[count // 2] * 1000
def get(connection, path="/"):
    connection.request("GET", path, headers=key)
    return connection.getresponse().read()
def new():
    connection = connect()
    get(connection)
    connection.close()
kept = connect()
new()
get(kept)
start = time.perf_counter()
kept.request("GET", "/large", headers=key)
answer = kept.getresponse()
total = 0
while chunk := answer.read(1 << 20):
    total += len(chunk)
rate = total / (1 << 20) / (time.perf_counter() - start)
print(json.dumps({"new": timed(new), "kept": timed(lambda: get(kept)), "rate": rate}))
"""


class Granting(DefaultAuthority):
    """Grants the same to every skill."""

    def __init__(self, granted: Grants) -> None:
        self._granted = granted

    def grants(self, skill: SkillMetadata, digest: str, requester: Requester) -> Grants:
        return self._granted


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers at once, with two bytes or with many."""

    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        size = LARGE if self.path == "/large" else 2
        self.send_response(200)
        self.send_header("Content-Length", str(size))
        self.end_headers()
        block = bytes(min(size, MIB))
        for _ in range(size // len(block)):
            self.wfile.write(block)
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        return


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="?", type=int, default=30, help="runs of each kind (default: 30)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as held:
        os.chmod(scratch, 0o755)
        public = make_certificate(Path(scratch))
        port, secure = held.enter_context(serving()), held.enter_context(serving(public))
        os.environ["SSL_CERT_FILE"] = str(public)
        secret = SecretRequest("KEY", (f"localhost:{secure}",))
        kinds = {
            "no network": (Grants(), 0),
            "everything": (Grants(network=True), port),
            "by name": (Grants(private_hosts=(f"localhost:{port}",)), port),
            "TLS, everything": (Grants(network=True), secure),
            "TLS, by name": (Grants(private_hosts=(f"localhost:{secure}",)), secure),
            "TLS, with a secret": (Grants(secrets=(secret,)), secure),
        }
        base = Path(scratch) / "skills" / "bench"
        (base / "scripts").mkdir(parents=True)
        (base / "SKILL.md").write_text("---\nname: bench\ndescription: For measuring\n---\n")
        (base / "scripts" / "true.sh").write_text("exit 0\n")
        (base / "scripts" / "requests.py").write_text(REQUESTS)
        manager = SkillManager(project_skill_dir=base.parent, anthropic_config_dir="", plugin_dirs=[])
        manager.discover()
        runner = LocalRunner(Path(scratch) / "home", sandbox="bwrap", concurrency=1)
        store = SecretStore(Path(scratch) / "agent")
        store.set("KEY", "sk-0123456789abcdef")
        tools = {
            kind: ScriptTools(manager, runner, Granting(granted), secrets=store)
            for kind, (granted, _) in kinds.items()
        }
        rows = []
        started = starts(tools, options.runs)
        for kind, calls in tools.items():
            row = [kind, f"{started[kind]:.1f}", f"{started[kind] - started['no network']:+.1f}"]
            address = kinds[kind][1]
            given = [str(address), *([public.read_text()] if address == secure else [])]
            answer = calls.script_run("bench", "requests", given) if address else {}
            said = answer.get("result") or {}
            if answer and not answer["success"]:
                raise SystemExit(json.dumps(answer))
            row += [f"{said[name]:.2f}" if said else "" for name in ("new", "kept")]
            rows.append([*row, f"{said['rate']:.0f}" if said else ""])
        header = ["granted", "a run, ms", "added", "new connection, ms", "kept, ms", "MiB/s"]
        table(f"Hosts by name, median of {options.runs} runs and 100 requests", header, rows)
        runner.close()


@contextmanager
def serving(certificate: Path | None = None) -> Iterator[int]:
    """The port of a server in a process of its own: in ours it would wait for the gateway's lock."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs, certificate))
    process.start()
    try:
        yield ours.recv()
    finally:
        process.terminate()
        process.join()


def serve(told: Connection, certificate: Path | None) -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, certificate.with_name("private.pem"))
        server.socket = context.wrap_socket(server.socket, server_side=True)
    told.send(server.server_address[1])
    server.serve_forever()


def make_certificate(folder: Path) -> Path:
    """A certificate for this machine that is its own authority, with its key beside it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    private, public = folder / "private.pem", folder / "public.pem"
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    private.write_bytes(key.private_bytes(*form))
    public.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    return public


def starts(tools: dict[str, ScriptTools], runs: int) -> dict[str, float]:
    """Milliseconds of a script that does nothing, taken in turns so that a busy moment strikes all alike."""
    times: dict[str, list[float]] = {kind: [] for kind in tools}
    for _ in range(runs + 1):
        for kind, calls in tools.items():
            start = perf_counter()
            answer = calls.script_run("bench", "true", json=False)
            if not answer["success"]:
                raise SystemExit(f"{kind}: {answer['message']}")
            times[kind].append((perf_counter() - start) * 1000)
    return {kind: statistics.median(found[1:]) for kind, found in times.items()}


if __name__ == "__main__":
    main()
