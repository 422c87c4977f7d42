"""Toolsets: Python classes of a skill whose methods are tools, loaded inside our own process."""

from typing import TYPE_CHECKING

from skillkit.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from skillkit.toolsets.active import ActiveToolsets
    from skillkit.toolsets.base import AgentToolset, ToolsetError, as_tool
    from skillkit.toolsets.loader import LoadedToolset, ToolsetLoader, Toolsets, collect_tools
    from skillkit.toolsets.python_skills import PythonSkill, PythonSkills

__all__ = [
    "ActiveToolsets",
    "AgentToolset",
    "LoadedToolset",
    "PythonSkill",
    "PythonSkills",
    "ToolsetError",
    "ToolsetLoader",
    "Toolsets",
    "as_tool",
    "collect_tools",
]

__getattr__ = lazy_names(
    __name__,
    {
        "active": "ActiveToolsets",
        "base": "AgentToolset ToolsetError as_tool",
        "loader": "LoadedToolset ToolsetLoader Toolsets collect_tools",
        "python_skills": "PythonSkill PythonSkills",
    },
)
