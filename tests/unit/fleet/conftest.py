"""A dispatcher for the tests of those who talk to one."""

import pytest
from dispatcher_actor import Actor


@pytest.fixture
async def actor():
    found = Actor()
    yield found
    if found.real._tending is not None:
        found.real._tending.cancel()
