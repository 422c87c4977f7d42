"""The suite of the runner, unchanged, with every script on a machine of the fleet."""

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.integration.scripts.test_script_payloads import *  # noqa: F403
from workshop import FixedGrants, Workshop, shared_home

from skillkit.scripts import Grants, Limits, ScriptTools

__all__ = ["shared_home"]


@dataclass
class FleetWorkshop(Workshop):
    """Makes tools whose runner is the fleet."""

    fleet: Any = None

    def tools(self, grants: Grants | None = None, *, limits: Limits | None = None, **_: Any) -> ScriptTools:
        runner = self.fleet.runner(shared_paths=[Path("/")])
        return ScriptTools(self.manager(), runner, FixedGrants(grants or Grants()), limits=limits)


@pytest.fixture
def workshop(fleet, machines, shared_home):
    folder = Path(tempfile.mkdtemp(prefix="skillkit-tests-"))
    os.chmod(folder, 0o755)
    yield FleetWorkshop(folder, shared_home, fleet=fleet)
    shutil.rmtree(folder)


@pytest.fixture(params=["bwrap"])
def backend(request):
    """The sandbox of the machines: without one, nothing runs on a fleet."""
    return request.param
