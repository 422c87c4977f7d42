"""The dispatcher at 1,000 machines and 1,000,000 runs an hour: simulated time, the real queue.

python3 -m benchmarks.fleet.simulation [RUNS] [MACHINES]

Runs take 10 s, longer than a slot is kept for further ones: each asks for its own.
"""

import heapq
import json
import random
import sys
import time
import tracemalloc

from skillkit.fleet.fair_queue import FairQueue, QueueFullError
from skillkit.fleet.policy import Policy, Share

HOUR = 3600.0
SLOTS = 8
TENANTS = 200


def simulate(runs: int = 1_000_000, machines: int = 1000, seed: int = 1) -> dict[str, object]:
    """Submit `runs` within an hour by 200 uneven tenants, with a burst of one more in the middle."""
    chance = random.Random(seed)
    queue = FairQueue(Policy(Share(waiting=200_000), {"t0": Share(weight=2, waiting=200_000)}))
    for number in range(machines):
        queue.add_worker(f"m{number}", SLOTS)
    weights = [1 / (rank + 1) for rank in range(TENANTS)]
    burst = runs // 20
    arrivals = [
        (chance.random() * HOUR, f"t{tenant}")
        for tenant in chance.choices(range(TENANTS), weights, k=runs - burst)
    ]
    arrivals += [(HOUR / 2, "burst")] * burst
    arrivals.sort()
    busy = machines * SLOTS * HOUR / runs
    mean = min(10.0, 0.7 * busy)  # seconds a run: 70 % of the slots are in use on average
    ends: list[tuple[float, str]] = []
    asked: dict[str, tuple[float, str]] = {}
    waits: dict[str, list[float]] = {}
    refused = peak = 0
    called_back: list[int] = [0]
    spent = 0.0
    position = 0
    while position < len(arrivals) or ends:
        at = arrivals[position][0] if position < len(arrivals) else float("inf")
        now = min(at, ends[0][0] if ends else float("inf"))
        began = time.perf_counter()
        if ends and ends[0][0] <= at:
            queue.release(heapq.heappop(ends)[1])
        else:
            name, tenant = f"r{position}", arrivals[position][1]
            position += 1
            try:
                queue.submit(name, tenant, "client", now)
                asked[name] = (now, tenant)
            except QueueFullError:
                refused += 1
        granted = list(queue.grants(now))
        if queue.is_short():
            called_back.append(len(queue.call_back()))
        spent += time.perf_counter() - began
        for grant in granted:
            since, tenant = asked.pop(grant.run)
            waits.setdefault("burst" if tenant == "burst" else "others", []).append(now - since)
            heapq.heappush(ends, (now + chance.expovariate(1 / mean), grant.run))
        peak = max(peak, len(asked))
    return {
        "runs": runs,
        "machines": machines,
        "slots": machines * SLOTS,
        "seconds_a_run": round(mean, 2),
        "refused": refused,
        "most_waiting": peak,
        "slots_called_back": sum(called_back),
        "most_called_back_at_once": max(called_back),
        "queue_us_a_run": round(spent / runs * 1e6, 1),
        "runs_a_second_of_queue": round(runs / spent),
        "wait_s": {
            group: {"p50": _at(found, 0.5), "p99": _at(found, 0.99), "max": round(max(found), 3)}
            for group, found in waits.items()
        },
    }


def bytes_a_waiting_run(count: int = 10_000) -> int:
    """Return what a waiting run costs in the queue."""
    queue = FairQueue(Policy(Share(waiting=count)))
    tracemalloc.start()
    for number in range(count):
        queue.submit(f"{number:032x}", f"t{number % 10}", "client", 0.0)
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return size // count


def _at(values: list[float], share: float) -> float:
    return round(sorted(values)[int(share * (len(values) - 1))], 3)


if __name__ == "__main__":
    numbers = [int(text) for text in sys.argv[1:]]
    print(json.dumps({**simulate(*numbers), "bytes_a_waiting_run": bytes_a_waiting_run()}, indent=1))
