"""Running a skill's scripts: within their grants, bounded, leaving nothing behind."""

from skillkit.core.grants import Grants, Limits
from skillkit.scripts.catalogue import Script, find_script, find_scripts
from skillkit.scripts.environments import DependencyError, Environment, EnvironmentStore
from skillkit.scripts.models import (
    Captured,
    Outcome,
    ScriptRequest,
    ScriptResult,
    ScriptRunner,
)
from skillkit.scripts.runner import LocalRunner
from skillkit.scripts.tools import ScriptTools

__all__ = [
    "Captured",
    "DependencyError",
    "Environment",
    "EnvironmentStore",
    "Grants",
    "Limits",
    "LocalRunner",
    "Outcome",
    "Script",
    "ScriptRequest",
    "ScriptResult",
    "ScriptRunner",
    "ScriptTools",
    "find_script",
    "find_scripts",
]
