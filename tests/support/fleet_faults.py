"""Three programs with 300 runs in whose middle a part of the fleet dies."""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from typing import Any

from fleet_network import URL, Network, show
from ray_cluster import wait_until

from skillkit.core.digest_memo import DigestMemo

TENANTS = ("a", "b", "c")
RUNS = 100
STARTED = 60
"""Runs that have started when the fault comes."""
CUT = 35.0
PARTS = {
    "worker": ("m1", "ray::Worker"),
    "raylet": ("m1", "raylet/raylet "),
    "GCS": ("head", "gcs_server"),
    "head": ("head", "gcs_server", "raylet/raylet ", "ray start"),
    "driver": ("head", "skillkit.fleet.engine"),
    "gateway": ("head", "fleet gateway"),
    "link": ("m1",),
}
"""What is killed where; the link of a machine is cut for 35 s instead."""
PROGRAM = """
import json, sys, time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from skillkit.fleet.remote import RemoteRunner
from skillkit.scripts import ScriptRequest
url, key, base, digest, marks, runs = sys.argv[1:]
base, marks = Path(base), Path(marks)
runner = RemoteRunner(url, key, patience=150.0, shared_paths=[marks])
def run(number):
    mark = str(marks / f"{runner._key('').tenant}.{number}.")
    request = ScriptRequest(base.name, base, digest, "scripts/run.py", (mark,), write_paths=(marks,))
    result = runner.run(request)
    return result.outcome.value, time.time(), result.message
with ThreadPoolExecutor(20) as pool:
    print(json.dumps(list(pool.map(run, range(int(runs))))))
runner.close()
"""
SCRIPT = "import sys, time, uuid; open(sys.argv[1] + uuid.uuid4().hex, 'x').close(); time.sleep(0.2)\n"


def meet(network: Network, part: str) -> dict[str, Any]:
    """Return how 300 runs ended in whose middle a part died; AssertionError if a program did."""
    base = network.folder / f"skill-{time.monotonic_ns()}"
    marks = network.folder / f"marks-{base.name}"
    (base / "scripts").mkdir(parents=True)
    (base / "SKILL.md").write_text(f"---\nname: {base.name}\ndescription: test\n---\n")
    (base / "scripts" / "run.py").write_text(SCRIPT)
    marks.mkdir()
    marks.chmod(0o777)
    words = (str(base), DigestMemo().with_links(base).digest, str(marks), str(RUNS))
    programs = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, URL, network.key(tenant), *words], stdout=subprocess.PIPE
        )
        for tenant in TENANTS
    ]
    wait_until(lambda: len(os.listdir(marks)) >= STARTED, 120, "the first runs")
    began, load = time.time(), os.getloadavg()[0]
    machine, *killed = PARTS[part]
    for each in killed:
        network.kill(machine, each)
    if not killed:
        network.cut(machine)
        time.sleep(CUT)
        network.mend(machine)
    answers = []
    try:
        for program in programs:
            output, _ = program.communicate(timeout=400)
            assert program.returncode == 0, f"a program ended with {program.returncode}"
            answers += json.loads(output)
        answered = time.time()
        wait_until(lambda: len(network.ready()) == 2, 300, "the return of the machines")
    except (AssertionError, subprocess.TimeoutExpired):
        print(show(network), file=sys.stderr)
        raise
    starts = Counter(name.rpartition(".")[0] for name in os.listdir(marks))
    outcomes = Counter(str(outcome) for outcome, _, _ in answers)
    reasons = Counter(f"{outcome}: {message}" for outcome, _, message in answers if outcome != "exited")
    print(part, f"{answered - began:.0f} s", dict(outcomes), dict(reasons), file=sys.stderr, flush=True)
    assert set(outcomes) <= {"exited", "lost", "broken"}, outcomes
    assert outcomes["exited"] <= len(starts) <= outcomes["exited"] + outcomes["lost"], (outcomes, len(starts))
    return {
        "outcomes": outcomes,
        "twice": sum(number > 1 for number in starts.values()),
        "answered": max(at for _, at, _ in answers) - began,
        "back": time.time() - began,
        "load": load,
    }
