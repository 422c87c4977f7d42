"""Running a skill's scripts: within their grants, bounded, leaving nothing behind."""

from typing import TYPE_CHECKING

from skillkit.core.grants import Grants, Limits
from skillkit.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from skillkit.scripts.catalogue import Script, find_script, find_scripts
    from skillkit.scripts.environments import Environment, EnvironmentStore
    from skillkit.scripts.exceptions import DependencyError
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

__getattr__ = lazy_names(
    __name__,
    {
        "catalogue": "Script find_script find_scripts",
        "environments": "Environment EnvironmentStore",
        "exceptions": "DependencyError",
        "models": "Captured Outcome ScriptRequest ScriptResult ScriptRunner",
        "runner": "LocalRunner",
        "tools": "ScriptTools",
    },
)
