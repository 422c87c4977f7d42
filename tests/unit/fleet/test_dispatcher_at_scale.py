"""The simulation of the dispatcher, at a size that a test can afford."""

import pytest
from benchmarks.fleet.simulation import bytes_a_waiting_run, simulate

pytestmark = pytest.mark.slow


def test_a_burst_of_one_tenant_waits_and_the_others_do_not():
    found = simulate(runs=20_000, machines=20)
    assert found["refused"] == 0
    waits = found["wait_s"]
    assert waits["burst"]["p50"] > 1.0
    assert waits["others"]["p99"] < 0.5
    assert set(waits) == {"burst", "others"}


def test_a_waiting_run_costs_the_queue_little():
    assert bytes_a_waiting_run(2000) < 2000
