"""Running a skill's scripts: within their grants, bounded, leaving nothing behind."""

from skillkit.scripts.catalogue import Script, find_script, find_scripts
from skillkit.scripts.environments import DependencyError, Environment, EnvironmentStore
from skillkit.scripts.models import (
    Captured,
    Limits,
    Outcome,
    ScriptRequest,
    ScriptResult,
    ScriptRunner,
)
from skillkit.scripts.policy import AsRequested, Grants, NothingGranted, ScriptPolicy, SkillDirectory
from skillkit.scripts.runner import LocalRunner
from skillkit.scripts.tools import ScriptTools

__all__ = [
    "AsRequested",
    "Captured",
    "DependencyError",
    "Environment",
    "EnvironmentStore",
    "Grants",
    "Limits",
    "LocalRunner",
    "NothingGranted",
    "Outcome",
    "Script",
    "ScriptPolicy",
    "ScriptRequest",
    "ScriptResult",
    "ScriptRunner",
    "ScriptTools",
    "SkillDirectory",
    "find_script",
    "find_scripts",
]
