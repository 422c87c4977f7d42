"""Machines with a network each, Ray with TLS, restarted as unit files say: whatever dies, all is well."""

import pytest
from fleet_faults import PARTS, meet
from fleet_network import running_network


@pytest.fixture(scope="module")
def network():
    with running_network() as made:
        yield made


@pytest.mark.parametrize("part", PARTS)
def test_no_run_starts_twice_all_are_answered_and_the_machines_come_back(network, part):
    met = meet(network, part)
    assert (met["twice"], met["outcomes"].total()) == (0, 300)
    if part in ("worker", "raylet", "link"):  # what one machine ran at that moment
        assert met["outcomes"]["lost"] <= 4
    if part in ("driver", "gateway"):
        assert met["outcomes"]["exited"] == 300
