"""What hosts by name cost a script, beside the same script with the whole network granted.

python3 dev.py bench gateway [RUNS]
"""

import argparse
import http.server
import json
import os
import statistics
import tempfile
import threading
from pathlib import Path
from time import perf_counter

from benchmarks.measure import table
from skillkit import SkillManager
from skillkit.core.authority import DefaultAuthority, Requester
from skillkit.core.models import SkillMetadata
from skillkit.scripts import Grants, LocalRunner, ScriptTools

MIB = 1 << 20
LARGE = 100 * MIB
REQUESTS = """
import http.client, json, sys, time
port, count = int(sys.argv[1]), 100
def timed(action):
    times = []
    for _ in range(count):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return sorted(times)[count // 2] * 1000
def get(connection, path="/"):
    connection.request("GET", path)
    return connection.getresponse().read()
def new():
    connection = http.client.HTTPConnection("localhost", port)
    get(connection)
    connection.close()
kept = http.client.HTTPConnection("localhost", port)
new()
get(kept)
start = time.perf_counter()
kept.request("GET", "/large")
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
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    port = server.server_address[1]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    kinds = {
        "no network": Grants(),
        "everything": Grants(network=True),
        "by name": Grants(private_hosts=(f"localhost:{port}",)),
    }
    with tempfile.TemporaryDirectory() as scratch:
        os.chmod(scratch, 0o755)
        base = Path(scratch) / "skills" / "bench"
        (base / "scripts").mkdir(parents=True)
        (base / "SKILL.md").write_text("---\nname: bench\ndescription: For measuring\n---\n")
        (base / "scripts" / "true.sh").write_text("exit 0\n")
        (base / "scripts" / "requests.py").write_text(REQUESTS)
        manager = SkillManager(project_skill_dir=base.parent, anthropic_config_dir="", plugin_dirs=[])
        manager.discover()
        runner = LocalRunner(Path(scratch) / "home", sandbox="bwrap", concurrency=1)
        tools = {kind: ScriptTools(manager, runner, Granting(granted)) for kind, granted in kinds.items()}
        rows = []
        started = starts(tools, options.runs)
        for kind, calls in tools.items():
            row = [kind, f"{started[kind]:.1f}", f"{started[kind] - started['no network']:+.1f}"]
            answer = calls.script_run("bench", "requests", [str(port)]) if kind != "no network" else {}
            said = answer.get("result") or {}
            if answer and not answer["success"]:
                raise SystemExit(json.dumps(answer))
            row += [f"{said[name]:.2f}" if said else "" for name in ("new", "kept")]
            rows.append([*row, f"{said['rate']:.0f}" if said else ""])
        header = ["granted", "a run, ms", "added", "new connection, ms", "kept, ms", "MiB/s"]
        table(f"Hosts by name, median of {options.runs} runs and 100 requests", header, rows)
        runner.close()


def starts(tools: dict[str, ScriptTools], runs: int) -> dict[str, float]:
    """Milliseconds of a script that does nothing, taken in turns so that a busy moment strikes all alike."""
    times: dict[str, list[float]] = {kind: [] for kind in tools}
    for _ in range(runs + 1):
        for kind, calls in tools.items():
            start = perf_counter()
            if not calls.script_run("bench", "true", json=False)["success"]:
                raise SystemExit(f"{kind}: the script did not run")
            times[kind].append((perf_counter() - start) * 1000)
    return {kind: statistics.median(found[1:]) for kind, found in times.items()}


if __name__ == "__main__":
    main()
