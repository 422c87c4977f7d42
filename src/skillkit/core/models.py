"""The nouns of the core: frozen, slotted data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from skillkit.core.diagnostics import Diagnostic, Severity
from skillkit.core.lazy_names import older_names
from skillkit.core.names import canonical_name, refusal
from skillkit.core.plugins import PluginManifest
from skillkit.core.text import escape_hidden

__all__ = [
    "Diagnostic",
    "InitMode",
    "Permissions",
    "PluginManifest",
    "QualifiedSkillName",
    "Severity",
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


@dataclass(frozen=True, slots=True)
class SkillSource:
    """A folder that is searched for skills, and its priority when names collide."""

    source_type: SourceType
    directory: Path
    priority: int
    plugin_name: str | None = None
    plugin_manifest: PluginManifest | None = None
    label: str = ""
    """The label before the colon in `label:skill`: the plugin's name or the kind of source."""
    plugin_id: str = ""
    """`plugin@marketplace`."""

    def __post_init__(self) -> None:
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
    """When the author wants the skill to be used."""

    keywords: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.keywords or self.verbs or self.patterns)


@dataclass(frozen=True, slots=True)
class SecretRequest:
    """A secret that scripts use without seeing it: put into one header of requests to these hosts."""

    name: str
    hosts: tuple[str, ...]
    header: str = "Authorization"

    def __str__(self) -> str:
        return f"{self.name} to {', '.join(self.hosts)} in {self.header}"


@dataclass(frozen=True, slots=True)
class Permissions:
    """Permissions that a skill asks for. Only the user's trust decision grants them."""

    env: tuple[str, ...] = ()
    network: bool = False
    """The whole network."""
    timeout: float | None = None
    hosts: tuple[str, ...] = ()
    """Hosts by name; `$NAME` is the host of the address in a variable of the user's."""
    secrets: tuple[SecretRequest, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.env or self.network or self.timeout or self.hosts or self.secrets)


@dataclass(frozen=True, slots=True)
class Requirements:
    """Requirements of a skill."""

    commands: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    mcp: tuple[str, ...] = ()
    """Servers of tools; `SkillManager(mcp_servers=…)` says which ones the program has."""
    python: str | None = None

    def __bool__(self) -> bool:
        return bool(self.commands or self.env or self.skills or self.mcp or self.python)


NO_TRIGGERS = Triggers()
NO_REQUIREMENTS = Requirements()
NO_PERMISSIONS = Permissions()


class DeclaredScript(str):
    """An entry of the header's `scripts`."""

    retry_safe = False
    """A second run does no harm (`retry: safe`)."""


GENERAL_AGENT = "general-purpose"
READING_AGENTS = frozenset({"explore", "plan"})
"""Read-only kinds of agents."""


@dataclass(frozen=True, slots=True)
class SkillMetadata:
    """Tier 1: the metadata of a skill, without its instructions."""

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
    plugin_root: Path | None = None
    plugin_id: str = ""
    """`plugin@marketplace`, which names the folder of the plugin's data."""
    source_label: str = ""
    license: str | None = None
    compatibility: str | None = None
    author: str | None = None
    repository: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict, hash=False)
    user_invocable: bool = True
    argument_hint: str | None = None
    argument_names: tuple[str, ...] = ()
    """Names of `$name` in the instructions, by position."""
    when_to_use: str | None = None
    """Part of the description, too."""
    disallowed_tools: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    effort: str | None = None
    context: str | None = None
    agent: str | None = None
    """Which kind of agent runs it when `context` is `fork`."""
    background: bool | None = None
    """Whether a client may continue before a fork has ended; skillkit always waits for its result."""
    shell: str | None = None
    hooks: Mapping[str, object] = field(default_factory=dict, hash=False)
    """Hooks of other clients; never run by skillkit."""
    triggers: Triggers = NO_TRIGGERS
    toolsets: tuple[str, ...] = ()
    scripts: tuple[str, ...] | None = None
    """Named by the author; None means what is found in `scripts/`."""
    scripts_ignore: tuple[str, ...] = ()
    permissions: Permissions = NO_PERMISSIONS
    requires: Requirements = NO_REQUIREMENTS
    min_agent_base_version: str | None = None
    max_agent_base_version: str | None = None
    extra: Mapping[str, object] = field(default_factory=dict, hash=False)
    """Every field that skillkit does not know."""
    display_name: str | None = None
    short_description: str | None = None
    recovered: bool = False
    """The header was broken or missing and this is a guess; found only where somebody asks for it."""
    diagnostics: tuple[Diagnostic, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("A skill's name cannot be empty")
        if (reason := refusal(self.name)) is not None:
            raise ValueError(f"Skill name '{escape_hidden(self.name)}' {reason}")

    @property
    def canonical_name(self) -> str:
        """The identity of the skill: lower case, hyphens."""
        return canonical_name(self.name)

    @property
    def qualified_name(self) -> str:
        """`source:name`, which finds this skill even when another one has its name."""
        return f"{self.source_label}:{self.name}" if self.source_label else self.name

    @property
    def runs_alone(self) -> bool:
        """Whether it runs in a conversation of its own."""
        return self.context == "fork"

    @property
    def agent_is_known(self) -> bool:
        """Whether `agent` is one of Claude Code's own; definitions in `.claude/agents` are not read."""
        return self.agent_only_reads or (self.agent or GENERAL_AGENT).lower() == GENERAL_AGENT

    @property
    def agent_only_reads(self) -> bool:
        """Whether `agent` is read-only."""
        return (self.agent or "").lower() in READING_AGENTS

    @property
    def required_commands(self) -> tuple[str, ...]:
        return self.requires.commands

    @property
    def file_path(self) -> Path:
        return self.skill_path

    @property
    def base_dir(self) -> Path:
        return self.skill_path.parent


__getattr__ = older_names(__name__)
