"""Kill each part of a fleet again and again, in the middle of 300 runs of three programs; record it all.

python3 dev.py bench fleet.faults [ROUNDS [PART…]]

A head, two machines of four slots and the programs, each with a network of its own; Ray and the gateway with
TLS, every process restarted as its unit file says. A program is a process of one tenant.
Rows of parts that are not named stay.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))

from fleet_faults import PARTS, RUNS, TENANTS, meet
from fleet_network import running_network
from ray_cluster import INSIDE, namespace_command, why_no_namespace

from benchmarks.measure import RESULTS, record

RECORDED = RESULTS / "fleet-faults.json"


def main(arguments: list[str]) -> int:
    if INSIDE not in os.environ:
        if reason := why_no_namespace():
            print(f"Not measured: no namespace can be made here ({reason})")
            return 1
        command = [*namespace_command(), sys.executable, "-m", "benchmarks.fleet.faults", *arguments]
        return subprocess.call(command, env={**os.environ, INSIDE: "1"})
    rounds, parts = int(arguments[0]) if arguments else 10, arguments[1:] or list(PARTS)
    rows: dict[str, dict[str, int]] = {}
    with running_network() as network:
        for part in parts:
            found = [meet(network, part) for _ in range(rounds)]
            ended: Counter[str] = sum((each["outcomes"] for each in found), Counter())
            rows[part] = {
                "rounds": rounds,
                "runs": ended.total(),
                "ended": ended["exited"],
                "lost": ended["lost"],
                "not started": ended["broken"],
                "started twice": sum(each["twice"] for each in found),
                "last answer": round(max(each["answered"] for each in found)),
                "all machines back": round(max(each["back"] for each in found)),
                "load": round(sum(each["load"] for each in found) / rounds),
            }
            print(part, rows[part], flush=True)
    before = json.loads(RECORDED.read_text())["rows"] if RECORDED.exists() else {}
    record("fleet-faults", {"rows": {**before, **rows}})
    every = rounds * RUNS * len(TENANTS)
    return int(any(row["started twice"] or row["runs"] != every for row in rows.values()))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
