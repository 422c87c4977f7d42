"""Runs where nothing but loopback exists; `test_fleet.py` beside this folder makes that place."""

import os

from ray_cluster import INSIDE

collect_ignore_glob = [] if INSIDE in os.environ else ["*"]

if INSIDE in os.environ:
    from fleet_workshop import fleet, machines

    __all__ = ["fleet", "machines"]
