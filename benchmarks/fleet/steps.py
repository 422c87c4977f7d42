"""Where the time of a run on a fleet goes: the medians of its steps, beside the same script on this machine.

python3 dev.py bench fleet.steps [RUNS]
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))

from fleet_machines import Fleet, running_fleet
from ray_cluster import INSIDE, namespace_command, why_no_namespace

from skillkit.fleet import client as clients
from skillkit.fleet.client import FleetClient
from skillkit.fleet.link import DispatcherLink
from skillkit.fleet.sealing import FleetKeys
from skillkit.scripts import LocalRunner, Outcome

STEPS = {
    "to the fleet's thread": ("called", "execute"),
    "before the slot is asked for": ("execute", "ask"),
    "ask for a slot": ("ask", "granted"),
    "write and seal the request": ("granted", "sealed"),
    "on the way to the worker": ("sealed", "arrived"),
    "worker: open it, find the tree, start a thread": ("arrived", "started"),
    "the script and its sandbox": ("started", "ended"),
    "worker: back from the thread, write and seal the result": ("ended", "answered"),
    "on the way back": ("answered", "back"),
    "open the result": ("back", "executed"),
    "to the caller's thread": ("executed", "returned"),
}
"""Each from one mark to the next; every process of a machine reads the same clock."""


def main(arguments: list[str]) -> int:
    if INSIDE not in os.environ:
        if reason := why_no_namespace():
            print(f"Not measured: no namespace can be made here ({reason})")
            return 1
        command = [*namespace_command(), sys.executable, "-m", "benchmarks.fleet.steps", *arguments]
        return subprocess.call(command, env={**os.environ, INSIDE: "1"})
    with running_fleet("127.0.0.2", "127.0.0.3") as fleet:
        for address in ("127.0.0.2", "127.0.0.3"):
            fleet.start_worker(address)
        print(json.dumps(trace(fleet, int(arguments[0]) if arguments else 200), indent=1))
    return 0


def trace(fleet: Fleet, runs: int) -> dict[str, Any]:
    """Run the same script so often here and there, in turns, and return the median of every step."""
    marks: dict[str, float] = {}
    mark_client(marks)
    fleet.ray.get([worker.__ray_call__.remote(mark_worker()) for worker in fleet.workers.values()])
    local, ray = LocalRunner(fleet.folder / "local", concurrency=8, sandbox="bwrap"), fleet.runner()
    request = fleet.request("print(1)", write_paths=())
    here: list[float] = []
    there: list[dict[str, float]] = []
    for _ in range(runs + 16):
        began = time.monotonic()
        assert local.run(request).outcome is Outcome.EXITED
        here.append(time.monotonic() - began)
        marks["called"] = time.monotonic()
        assert ray.run(request).outcome is Outcome.EXITED
        marks["returned"] = time.monotonic()
        for worker in fleet.workers.values():
            found = fleet.ray.get(worker.__ray_call__.remote(lambda self: dict(self.marks)))
            if found.get("arrived", 0.0) > marks["called"]:
                marks |= found
        there.append({step: marks[end] - marks[start] for step, (start, end) in STEPS.items()})
    local.close()
    median = {step: statistics.median(each[step] for each in there[16:]) * 1000 for step in STEPS}
    script = median["the script and its sandbox"]
    return {
        "local_ms": round(statistics.median(here[16:]) * 1000, 2),
        "fleet_ms": round(statistics.median(sum(each.values()) for each in there[16:]) * 1000, 2),
        "steps_without_the_script_ms": round(sum(median.values()) - script, 2),
        "steps_ms": {step: round(value, 2) for step, value in median.items()},
    }


def mark_client(marks: dict[str, float]) -> None:
    """Note when the steps in this program begin and end."""

    def around(owner: Any, method: str, before: str, after: str) -> None:
        real = getattr(owner, method)

        async def marked(*arguments: Any) -> Any:
            marks[before] = time.monotonic()
            try:
                return await real(*arguments)
            finally:
                marks[after] = time.monotonic()

        setattr(owner, method, marked)

    around(FleetClient, "execute", "execute", "executed")
    around(DispatcherLink, "lease", "ask", "granted")
    around(clients, "ray_value", "sent", "back")
    seal = FleetKeys.seal

    def marked_seal(*arguments: Any) -> bytes:
        sealed = seal(*arguments)
        marks["sealed"] = time.monotonic()
        return sealed

    FleetKeys.seal = marked_seal  # type: ignore[method-assign]


def mark_worker() -> Callable[[Any], None]:
    """Return what makes a worker note when its steps begin and end; machines do not have this module."""

    def mark(worker: Any) -> None:
        import time

        worker.marks = {}
        admit, execute, seal = worker._admit, worker._runner._execute, worker._keys.seal

        def marked_admit(*arguments: Any) -> Any:
            worker.marks["arrived"] = time.monotonic()
            return admit(*arguments)

        def marked_execute(*arguments: Any) -> Any:
            worker.marks["started"] = time.monotonic()
            try:
                return execute(*arguments)
            finally:
                worker.marks["ended"] = time.monotonic()

        def marked_seal(*arguments: Any) -> Any:
            sealed = seal(*arguments)
            worker.marks["answered"] = time.monotonic()
            return sealed

        worker._admit, worker._runner._execute, worker._keys.seal = marked_admit, marked_execute, marked_seal

    return mark


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
