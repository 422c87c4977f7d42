"""A fleet beside this machine's runner, in turns, in one run; read the ratios.

python3 -m benchmarks.fleet [--short]     a head and two machines of four slots, on loopback in a namespace
"""

import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))

from fleet_machines import Fleet, running_fleet
from ray_cluster import INSIDE, namespace_command, processes, why_no_namespace

from benchmarks.measure import record
from skillkit.scripts import LocalRunner, Outcome, ScriptRequest, ScriptRunner

SLOTS = 8
Pairs = Sequence[tuple[float, float]]
"""Milliseconds here and on the fleet, of two runs one after the other."""


def main(arguments: list[str]) -> int:
    if INSIDE not in os.environ:
        if reason := why_no_namespace():
            print(f"Not measured: no namespace can be made here ({reason})")
            return 1
        command = [*namespace_command(), sys.executable, "-m", "benchmarks.fleet", *arguments]
        return subprocess.call(command, env={**os.environ, INSIDE: "1"})
    short = "--short" in arguments
    with running_fleet("127.0.0.2", "127.0.0.3") as fleet:
        for address in ("127.0.0.2", "127.0.0.3"):
            fleet.start_worker(address)
        load = os.getloadavg()[0]
        found = measure(fleet, 100 if short else 1000, 100 if short else 500)
        record("fleet", {"load": round(load, 1), **found})
        print(json.dumps(found, indent=1))
    return 0


def measure(fleet: Fleet, pairs: int, batch: int) -> dict[str, Any]:
    local, ray = LocalRunner(fleet.folder / "local", concurrency=SLOTS, sandbox="bwrap"), fleet.runner()
    trivial = fleet.request("print(1)", write_paths=())
    large = fleet.request("print('x' * (1 << 20))", write_paths=())
    for request in (trivial, large):
        for runner in (local, ray):
            for _ in range(8):
                assert runner.run(request).outcome is Outcome.EXITED
    times = in_turns(local, ray, trivial, pairs)
    mebibyte = in_turns(local, ray, large, 12)
    speed: dict[str, list[float]] = {"local": [], "fleet": []}
    for _ in range(4):
        for name, runner in (("local", local), ("fleet", ray)):
            speed[name].append(asyncio.run(throughput(runner, trivial, batch // 4)))
    found = {
        "pairs": pairs,
        "p50_ms": {name: quantile(each, 0.5) for name, each in times.items()},
        "p50_ratio": quantile(times["fleet"], 0.5) / quantile(times["local"], 0.5),
        "p99_ms": {name: quantile(each, 0.99) for name, each in times.items()},
        "added_p50_ms": likely(times, partial(later, 0.5)),
        "added_p99_ms": likely(times, partial(later, 0.99)),
        "added_in_a_pair_p50_ms": likely(times, within_pairs),
        "added_after_a_pause_ms": likely(in_turns(local, ray, trivial, 10, pause=3.0), within_pairs),
        "runs_a_second": {name: statistics.median(each) for name, each in speed.items()},
        "throughput_ratio": statistics.median(speed["fleet"]) / statistics.median(speed["local"]),
        "mebibyte_ratio": statistics.median(mebibyte["fleet"]) / statistics.median(mebibyte["local"]),
        "cancel_s": asyncio.run(cancelling(fleet, ray)),
        "idle_cores": idle(),
        "idle_megabytes": idle_megabytes(),
    }
    local.close()
    return found


def in_turns(
    local: ScriptRunner, fleet: ScriptRunner, request: ScriptRequest, pairs: int, pause: float = 0.0
) -> dict[str, list[float]]:
    """Return the milliseconds of so many runs here and there, one of each after the other.

    A machine has slow moments that last longer than a run: both meet the same ones this way.
    """
    found: dict[str, list[float]] = {"local": [], "fleet": []}
    for _ in range(pairs):
        for name, runner in (("local", local), ("fleet", fleet)):
            time.sleep(pause)
            began = time.perf_counter()
            runner.run(request)
            found[name].append((time.perf_counter() - began) * 1000)
    return found


def quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[int(share * (len(values) - 1))]


def later(share: float, pairs: Pairs) -> float:
    """Return how much later this quantile of all runs is on the fleet."""
    local, fleet = zip(*pairs, strict=True)
    return quantile(fleet, share) - quantile(local, share)


def within_pairs(pairs: Pairs) -> float:
    """Return by how much the run on the fleet is longer than the local one beside it, at the median."""
    return statistics.median(fleet - local for local, fleet in pairs)


def likely(times: dict[str, list[float]], difference: Callable[[Pairs], float]) -> dict[str, float]:
    """Return a difference, and between what it is in 95 % of resamplings of the pairs."""
    chance = random.Random(1)
    pairs = list(zip(times["local"], times["fleet"], strict=True))
    drawn = [difference(chance.choices(pairs, k=len(pairs))) for _ in range(1000)]
    return {"ms": difference(pairs), "from": quantile(drawn, 0.025), "to": quantile(drawn, 0.975)}


async def throughput(runner: ScriptRunner, request: ScriptRequest, count: int) -> float:
    began = time.perf_counter()
    await asyncio.gather(*(runner.arun(request) for _ in range(count)))
    return count / (time.perf_counter() - began)


async def cancelling(fleet: Fleet, runner: ScriptRunner) -> float:
    found = []
    for _ in range(4):
        request = fleet.request("import time; time.sleep(600)")
        task = asyncio.ensure_future(runner.arun(request))
        await asyncio.to_thread(fleet.wait_for_start, request)
        began = time.perf_counter()
        task.cancel()
        await asyncio.wait([task])
        found.append(time.perf_counter() - began)
    return statistics.median(found)


def idle(seconds: float = 5.0) -> float:
    """Return the cores that everything of the cluster uses while nothing runs."""
    before = ticks()
    time.sleep(seconds)
    return (ticks() - before) / os.sysconf("SC_CLK_TCK") / seconds


def ticks() -> int:
    total = 0
    for pid in processes():
        try:
            fields = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += int(fields[11]) + int(fields[12])
    return total


def idle_megabytes() -> float:
    """Return the memory of the cluster and the gateway that no other process shares."""
    total = 0
    for pid, line in processes().items():
        if "ray" in line or "fleet" in line:
            try:
                words = Path("/proc", str(pid), "smaps_rollup").read_text().split()
            except OSError:
                continue
            total += int(words[words.index("Pss:") + 1])
    return total / 1000


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
