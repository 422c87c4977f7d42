"""An integration with every script on a fleet: the conversations that run scripts, through LangChain."""

import os

import pytest

os.environ["SKILLKIT_COLUMNS"] = "langchain"  # read by the import below: another column is another run

from conformance.drivers import DRIVERS
from conformance.library import friendly
from conformance.scenarios import SCENARIOS
from fleet_machines import URL

from skillkit.fleet.sealing import FleetKeys

RUN_SCRIPTS = ("script_output", "script_approved", "made_files", "shown_files", "cancellation")


@pytest.mark.parametrize("scenario", RUN_SCRIPTS)
async def test_the_setting_alone_moves_scripts_to_the_fleet(fleet, machines, monkeypatch, tmp_path, scenario):
    monkeypatch.setenv("SKILLKIT_RUNNER", URL)
    monkeypatch.setenv("SKILLKIT_FLEET_KEY", FleetKeys.read(fleet.keys).tenant("conforms").text)
    before = fleet.tenant("conforms").get("started", 0)
    library = friendly(tmp_path / "skills")
    conversation = DRIVERS[0](library.provider)
    try:
        await SCENARIOS[scenario](conversation, library)
    finally:
        await conversation.close()
    assert fleet.tenant("conforms")["started"] > before
