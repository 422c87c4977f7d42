"""Skills with scripts on disk, and the three calls over them, here or on a fleet."""

import os

from ray_cluster import INSIDE
from workshop import shared_home

if INSIDE in os.environ:
    from fleet_workshop import backend, confining, fleet, machines, time_is_up, workshop

    __all__ = ["backend", "confining", "fleet", "machines", "shared_home", "time_is_up", "workshop"]
else:
    from workshop import backend, confining, time_is_up, workshop

    __all__ = ["backend", "confining", "shared_home", "time_is_up", "workshop"]
