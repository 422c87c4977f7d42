"""The same conversation through every integration; what one cannot do is known and stays true."""

from pathlib import Path

import pytest
from conformance.drivers import DRIVERS
from conformance.library import Library, friendly, hostile
from conformance.scenarios import SCENARIOS
from conformance.script import Driver


def label(driver: type[Driver]) -> str:
    return f"{driver.title} {driver.variant}".strip().replace(" ", "-")


FAST = ("Plain", "LangChain", "Agent-Framework", "MCP")
"""The others differ in how a framework is called, not in what is promised."""
COLUMNS = [
    pytest.param(driver, id=label(driver), marks=[] if label(driver) in FAST else pytest.mark.slow)
    for driver in DRIVERS
]


@pytest.fixture
def library(tmp_path: Path, scenario: str) -> Library:
    return hostile(tmp_path / "skills") if scenario == "hostile_library" else friendly(tmp_path / "skills")


@pytest.mark.parametrize("driver", COLUMNS)
@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_every_integration_keeps_the_promise(scenario: str, driver: type[Driver], library: Library):
    if scenario == "cancellation" and scenario in driver.unable:
        pytest.skip(driver.unable[scenario])
    conversation = driver(library.provider)
    try:
        if scenario in driver.unable:
            with pytest.raises((AssertionError, NotImplementedError, UserWarning)):
                await SCENARIOS[scenario](conversation, library)
        else:
            await SCENARIOS[scenario](conversation, library)
    finally:
        await conversation.close()
