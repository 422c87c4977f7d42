"""The conversation that every integration keeps to, through LangChain, with every script on a fleet."""

import os

import pytest

os.environ["SKILLKIT_COLUMNS"] = "langchain"  # read by the import below: another column is another run

from fleet_machines import URL
from tests.integration.integrations.test_conformance import *  # noqa: F403

from skillkit.fleet.sealing import FleetKeys


@pytest.fixture(autouse=True)
def scripts_on_the_fleet(fleet, machines, monkeypatch):
    """The setting alone switches an integration over."""
    monkeypatch.setenv("SKILLKIT_RUNNER", URL)
    monkeypatch.setenv("SKILLKIT_FLEET_KEY", FleetKeys.read(fleet.keys).tenant("default").text)


def test_the_scripts_ran_on_the_machines(fleet):
    """The last of this module: the gateway has started what the conversations asked for."""
    assert fleet.tenant("default")["started"] > 0
