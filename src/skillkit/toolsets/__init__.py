"""Toolsets: Python classes of a skill whose methods are tools, loaded inside our own process."""

from skillkit.toolsets.active import ActiveToolsets
from skillkit.toolsets.base import AgentToolset, as_tool
from skillkit.toolsets.exceptions import ToolsetError
from skillkit.toolsets.loader import (
    LoadedToolset,
    ToolsetLoader,
    Toolsets,
    collect_tools,
)

__all__ = [
    "ActiveToolsets",
    "AgentToolset",
    "LoadedToolset",
    "ToolsetError",
    "ToolsetLoader",
    "Toolsets",
    "as_tool",
    "collect_tools",
]
