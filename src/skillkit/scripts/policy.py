"""What the user grants to a skill; whoever keeps trust decisions answers, scripts only ask."""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Protocol

from skillkit.core.availability import Refusal
from skillkit.core.models import SkillMetadata
from skillkit.scripts.models import Limits


@dataclass(frozen=True, slots=True)
class Grants:
    """Decided by the user for one digest of one skill; the default is a sandbox with nothing in it."""

    run: bool = True
    reason: str = ""
    """Why not, when `run` is false."""
    env: tuple[str, ...] = ()
    """Names and patterns such as `KALSHI_*` of variables that scripts may see."""
    withheld_env: tuple[str, ...] = ()
    """Names and patterns that the skill asks for and has to do without."""
    network: bool = False
    read_paths: tuple[Path, ...] = ()
    write_paths: tuple[Path, ...] = ()
    unsandboxed: bool = False
    """May run where no sandbox holds."""
    source_builds: bool = False
    """Dependencies may be built from source, which runs their code on this machine."""
    other_sources: bool = False
    """Scripts may name their own indexes, direct URLs and path dependencies."""
    limits: Limits | None = None
    """In place of the usual ones, higher or lower."""

    @classmethod
    def as_requested(cls, skill: SkillMetadata) -> "Grants":
        """What a user grants who accepts everything the skill's header asks for."""
        return cls(env=skill.permissions.env, network=skill.permissions.network)


class ScriptPolicy(Protocol):
    """Who knows what was granted to a tree with this digest."""

    def grants(self, skill: SkillMetadata, digest: str) -> Grants: ...


class NothingGranted:
    """Every script may run in the sandbox, with no network, no variable and no other file."""

    def grants(self, skill: SkillMetadata, digest: str) -> Grants:
        return Grants()


class AsRequested:
    """Grants what each skill asks for; for skills that are trusted as a whole, such as bundled ones."""

    def grants(self, skill: SkillMetadata, digest: str) -> Grants:
        return Grants.as_requested(skill)


class SkillDirectory(Protocol):
    """Which skills there are and may be used; a SkillManager is one."""

    def get_skill(self, name: str) -> SkillMetadata: ...

    def list_skills(self) -> list[SkillMetadata]: ...

    def refusal(self, skill: SkillMetadata) -> Refusal | None: ...


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
