"""skillkit: Agent Skills for any Python agent, disclosed progressively."""

import logging

from skillkit._version import __version__
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
from skillkit.core.models import Diagnostic, Skill, SkillMetadata
from skillkit.core.path_resolver import FilePathResolver

logging.getLogger(__name__).addHandler(logging.NullHandler())

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
