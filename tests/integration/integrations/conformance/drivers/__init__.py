"""A driver for each integration, and for each way of using it: a module of `DRIVERS` a framework."""

import os
from importlib import import_module

from conformance.script import Driver

COLUMNS = (
    "plain",
    "anthropic",
    "openai_agents",
    "pydantic_ai",
    "langchain",
    "agent_framework",
    "mcp",
    "program",
)
PEERS = ("adk",)
"""Too heavy for everybody's environment: run by `dev.py columns peers`."""
CHOSEN = os.environ.get("SKILLKIT_COLUMNS", ",".join(COLUMNS)).split(",")
"""An environment with one framework runs its column only."""

DRIVERS: tuple[type[Driver], ...] = tuple(
    driver
    for column in (*COLUMNS, *PEERS)
    if column in CHOSEN
    for driver in import_module(f"conformance.drivers.{column}").DRIVERS
)
