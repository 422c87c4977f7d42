"""The suite of the runner, unchanged, with every script on a machine of the fleet."""

from fleet_workshop import backend, time_is_up, workshop
from tests.integration.scripts.test_script_payloads import *  # noqa: F403
from workshop import shared_home

__all__ = ["backend", "shared_home", "time_is_up", "workshop"]
