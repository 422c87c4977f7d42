"""The conversation that every integration keeps to, through LangChain, with every script on a fleet."""

import os

import pytest

os.environ["SKILLKIT_COLUMNS"] = "langchain"  # read by the import below: another column is another run

from fleet_machines import ADDRESS
from tests.integration.integrations.test_conformance import *  # noqa: F403

from skillkit.fleet.cluster import get_dispatcher


@pytest.fixture(autouse=True)
def scripts_on_the_fleet(fleet, machines, monkeypatch):
    """The setting alone switches an integration over."""
    monkeypatch.setenv("SKILLKIT_RUNNER", ADDRESS)
    monkeypatch.setenv("SKILLKIT_FLEET_KEYS", str(fleet.keys))


def test_the_scripts_ran_on_the_machines(fleet):
    """The last of this module: the dispatcher has started what the conversations asked for."""
    tenants = fleet.ray.get(get_dispatcher(fleet.ray).status.remote())["tenants"]
    assert tenants["default"]["started"] > 0
