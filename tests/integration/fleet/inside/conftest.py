"""Runs where nothing but loopback exists; `test_fleet.py` beside this folder makes that place."""

import os

import pytest
from ray_cluster import INSIDE, processes

collect_ignore_glob = [] if INSIDE in os.environ else ["*"]


@pytest.fixture(scope="module")
def fleet():
    """A head and two machines, one worker on each."""
    from fleet_machines import running_fleet

    with running_fleet("127.0.0.2", "127.0.0.3") as made:
        yield made


@pytest.fixture
def machines(fleet):
    """A worker of four slots on each machine, started anew where the test before did not leave one."""
    alive = processes()
    ready = {
        facts["place"]: name
        for name, facts in fleet.status().items()
        if facts["state"] == "ready" and facts["pid"] in alive
    }
    if set(ready) != {"127.0.0.2", "127.0.0.3"} or set(ready.values()) != set(fleet.workers):
        fleet.stop_workers()
        ready = {address: fleet.start_worker(address) for address in ("127.0.0.2", "127.0.0.3")}
    return ready
