"""Which variables of the environment a granted run sees."""

from collections.abc import Mapping
from fnmatch import fnmatchcase

from skillkit.core.grants import Grants
from skillkit.core.models import SkillMetadata


class DeniedVariableError(Exception):
    """A variable is set and asked for, but was neither granted nor withheld on purpose."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Env var '{name}' not in allowlist")
        self.name = name


def granted_environment(skill: SkillMetadata, grants: Grants, environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that scripts of `skill` get: those granted, as they are set now."""
    granted: dict[str, str] = {}
    for name, value in environ.items():
        if _matches(name, grants.env):
            granted[name] = value
        elif _matches(name, skill.permissions.env) and not _matches(name, grants.withheld_env):
            raise DeniedVariableError(name)
    return granted


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
