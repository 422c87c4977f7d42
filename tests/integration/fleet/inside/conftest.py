"""Runs where nothing but loopback exists; `test_fleet.py` beside this folder makes that place."""

import os

from ray_cluster import INSIDE

collect_ignore_glob = [] if INSIDE in os.environ else ["*"]

if INSIDE in os.environ:
    from fleet_workshop import fleet, machines

    __all__ = ["fleet", "machines"]


def pytest_generate_tests(metafunc):
    """Faults are met once in the suite, and as often as `benchmarks.fleet.faults` asks."""
    if "fault_round" in metafunc.fixturenames:
        metafunc.parametrize("fault_round", range(int(os.environ.get("SKILLKIT_FAULT_ROUNDS", "1"))))
