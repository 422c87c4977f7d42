"""skillkit: Agent Skills for any Python agent, disclosed progressively.

The public names. Each is loaded when it is first used, so that `import skillkit` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from skillkit._version import __version__

if TYPE_CHECKING:
    from skillkit.core.exceptions import (
        ArgumentProcessingError,
        ConfigurationError,
        ContentLoadError,
        InvalidFrontmatterError,
        InvalidYAMLError,
        MissingRequiredFieldError,
        PathSecurityError,
        SizeLimitExceededError,
        SkillInvocationError,
        SkillNotFoundError,
        SkillParsingError,
        SkillSecurityError,
        SkillsUseError,
        SuspiciousInputError,
    )
    from skillkit.core.manager import SkillManager
    from skillkit.core.models import Diagnostic, SkillMetadata
    from skillkit.core.path_resolver import FilePathResolver
    from skillkit.core.skill import Skill

__all__ = [
    "ArgumentProcessingError",
    "ConfigurationError",
    "ContentLoadError",
    "Diagnostic",
    "FilePathResolver",
    "InvalidFrontmatterError",
    "InvalidYAMLError",
    "MissingRequiredFieldError",
    "PathSecurityError",
    "SizeLimitExceededError",
    "Skill",
    "SkillInvocationError",
    "SkillManager",
    "SkillMetadata",
    "SkillNotFoundError",
    "SkillParsingError",
    "SkillSecurityError",
    "SkillsUseError",
    "SuspiciousInputError",
    "__version__",
]

_HOMES = {
    "Diagnostic": "skillkit.core.models",
    "FilePathResolver": "skillkit.core.path_resolver",
    "Skill": "skillkit.core.skill",
    "SkillManager": "skillkit.core.manager",
    "SkillMetadata": "skillkit.core.models",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'skillkit' has no attribute {name!r}")
    value: object = getattr(import_module(_HOMES.get(name, "skillkit.core.exceptions")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
