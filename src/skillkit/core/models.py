"""The nouns of the core: frozen, slotted data that says everything in its types."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from skillkit.core.cache import CacheStats, ContentCache
from skillkit.core.content import SkillFile
from skillkit.core.names import canonical_name
from skillkit.core.plugins import PluginManifest
from skillkit.core.processors import render
from skillkit.core.text import escape_hidden

__all__ = [
    "CacheStats",
    "ContentCache",
    "Diagnostic",
    "InitMode",
    "Permissions",
    "PluginManifest",
    "QualifiedSkillName",
    "Severity",
    "Skill",
    "SkillMetadata",
    "SkillSource",
    "SourceType",
    "Triggers",
]


class SourceType(str, Enum):
    """Where a skill comes from."""

    PROJECT = "project"
    ANTHROPIC = "anthropic"
    PLUGIN = "plugin"
    CUSTOM = "custom"
    USER = "user"
    PACKAGE = "package"
    BUNDLED = "bundled"


class InitMode(str, Enum):
    """How the manager was filled; kept for programs that ask, sync and async may be mixed."""

    UNINITIALIZED = "uninitialized"
    SYNC = "sync"
    ASYNC = "async"


class Severity(str, Enum):
    """An error keeps a skill from loading, a warning does not, an info is only worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """Something worth saying about a file, as data."""

    path: Path
    code: str
    """The rule, such as `unknown-field`; docs/diagnostics.md lists them all."""
    severity: Severity
    message: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else str(self.path)
        return escape_hidden(f"{place}: {self.severity.value}: {self.message} [{self.code}]")


@dataclass(frozen=True, slots=True)
class SkillSource:
    """A folder that is searched for skills, and what it counts for when names collide."""

    source_type: SourceType
    directory: Path
    priority: int
    plugin_name: str | None = None
    plugin_manifest: PluginManifest | None = None
    label: str = ""
    """What stands before the colon in `label:skill`; the plugin's name or the kind of source."""

    def __post_init__(self) -> None:
        if not os.path.exists(self.directory):
            raise ValueError(f"Source directory does not exist: {self.directory}")
        if not os.path.isdir(self.directory):
            raise ValueError(f"Source path is not a directory: {self.directory}")
        if self.priority <= 0:
            raise ValueError(f"Priority must be positive, got: {self.priority}")
        if self.source_type is SourceType.PLUGIN and self.plugin_name is None:
            raise ValueError("plugin_name required when source_type == PLUGIN")
        if not self.label:
            object.__setattr__(self, "label", self.plugin_name or self.source_type.value)


@dataclass(frozen=True, slots=True)
class QualifiedSkillName:
    """`skill`, or `plugin:skill` where the part before the colon names a plugin or a source."""

    plugin: str | None
    skill: str

    @staticmethod
    def parse(text: str) -> "QualifiedSkillName":
        if not text:
            raise ValueError("Skill name cannot be empty")
        plugin, colon, skill = text.partition(":")
        if not colon:
            return QualifiedSkillName(plugin=None, skill=text)
        if not plugin or not skill:
            raise ValueError(f"Invalid qualified name (empty plugin or skill): {text}")
        return QualifiedSkillName(plugin=plugin, skill=skill)


@dataclass(frozen=True, slots=True)
class Triggers:
    """When an author wants the skill to be thought of."""

    keywords: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.keywords or self.verbs or self.patterns)


@dataclass(frozen=True, slots=True)
class Permissions:
    """What a skill asks for. Only the user's trust decision grants it."""

    env: tuple[str, ...] = ()
    network: bool = False
    timeout: float | None = None

    def __bool__(self) -> bool:
        return bool(self.env or self.network or self.timeout)


NO_TRIGGERS = Triggers()
NO_PERMISSIONS = Permissions()


@dataclass(frozen=True, slots=True)
class SkillMetadata:
    """Tier 1: what is known of a skill without reading its instructions."""

    name: str
    description: str
    skill_path: Path
    """The SKILL.md file."""
    allowed_tools: tuple[str, ...] = ()
    """Parsed and shown; never applied, never a grant."""
    version: str | None = None
    model: str | None = None
    disable_model_invocation: bool = False
    source: SourceType | None = None
    plugin_name: str | None = None
    source_label: str = ""
    license: str | None = None
    compatibility: str | None = None
    author: str | None = None
    repository: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict, hash=False)
    user_invocable: bool = True
    argument_hint: str | None = None
    triggers: Triggers = NO_TRIGGERS
    toolsets: tuple[str, ...] = ()
    scripts: tuple[str, ...] | None = None
    """Named by the author; None means what is found in `scripts/`."""
    scripts_ignore: tuple[str, ...] = ()
    permissions: Permissions = NO_PERMISSIONS
    required_commands: tuple[str, ...] = ()
    min_agent_base_version: str | None = None
    max_agent_base_version: str | None = None
    default_enabled: bool = True
    extra: Mapping[str, object] = field(default_factory=dict, hash=False)
    """Every field that skillkit does not know."""
    recovered: bool = False
    """The header was broken or missing and this is a guess: usable by name, not offered to a model."""
    diagnostics: tuple[Diagnostic, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        # With a source it comes from a walk that has just read the file.
        if self.source is None and not os.path.lexists(self.skill_path):
            raise ValueError(f"Skill path does not exist: {self.skill_path}")

    @property
    def canonical_name(self) -> str:
        """The identity of the skill: lower case, hyphens."""
        return canonical_name(self.name)

    @property
    def qualified_name(self) -> str:
        """`source:name`, which finds this skill even when another one has its name."""
        return f"{self.source_label}:{self.name}" if self.source_label else self.name

    @property
    def file_path(self) -> Path:
        return self.skill_path

    @property
    def base_dir(self) -> Path:
        return self.skill_path.parent


@dataclass(frozen=True)
class Skill:
    """Tier 2: a skill whose instructions are read when they are asked for."""

    metadata: SkillMetadata
    base_directory: Path
    _file: SkillFile = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        file = SkillFile(self.metadata.skill_path, recovered=self.metadata.recovered)
        object.__setattr__(self, "_file", file)

    @property
    def content(self) -> str:
        """The instructions as they are on disk now, without the header."""
        return self._file.read().body

    def invoke(self, arguments: str | None = "") -> str:
        """The instructions, ready for a model."""
        return render(self.content, self.base_directory, arguments, self.metadata.name)

    async def ainvoke(self, arguments: str | None = "") -> str:
        """`invoke` without blocking the event loop."""
        import asyncio

        return await asyncio.to_thread(self.invoke, arguments)
