"""Data types of skill tests: cases, expectations, and their files."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from skillkit.core.models import SkillMetadata


class CheckKind(str, Enum):
    """Subject of a check."""

    CONTAINS = "contains"
    EXCLUDES = "excludes"
    MATCHES = "matches"
    NOT_MATCHES = "not-matches"
    JSON_SCHEMA = "json-schema"
    JSON_SUBSET = "json-subset"
    FILE_EXISTS = "file-exists"
    FILE_ABSENT = "file-absent"
    FILE_CONTAINS = "file-contains"
    FILE_EXCLUDES = "file-excludes"
    FILE_MATCHES = "file-matches"
    FILE_NOT_MATCHES = "file-not-matches"
    TOOL_CALLS = "tool-calls"
    TOOLS_ABSENT = "tools-absent"
    SKILL_LOADED = "skill-loaded"
    SKILL_NOT_LOADED = "skill-not-loaded"
    MAX_TOKENS = "max-tokens"
    MAX_SECONDS = "max-seconds"
    MAX_TOOL_CALLS = "max-tool-calls"
    COMPLETED = "completed"
    EXPRESSION = "expression"
    CHECKER = "checker"
    STATEMENT = "statement"
    """A statement that requires a judge."""
    UNKNOWN = "unknown"
    """A kind that this library does not support; it is never judged."""


@dataclass(frozen=True, slots=True)
class Check:
    """One condition on a run."""

    kind: CheckKind
    values: tuple[str, ...] = ()
    """Texts, expressions or names; all of them are required unless `any_of`."""
    any_of: bool = False
    same_case: bool = False
    """Whether matching is case-sensitive."""
    ordered: bool = False
    """Tool calls: the order matters."""
    exact: bool = False
    """Tool calls: no others are allowed."""
    path: str = ""
    """A file or glob, relative to the folder of the run."""
    limit: float | None = None
    data: object = None
    """A JSON schema, an expected document, or for each tool call a pattern of its arguments, the arguments
    themselves, or None."""
    text: str = ""
    """The check as its author wrote it."""
    compiled: bool = False
    """Whether the check was parsed from a sentence."""
    note: str = ""
    """Why it cannot be judged, if already known."""

    @property
    def shown(self) -> str:
        """Return a short description of the check."""
        values = (" or " if self.any_of else ", ").join(repr(value) for value in self.values[:4])
        place = f" in {self.path}" if self.path else ""
        limit = f" {self.limit:g}" if self.limit is not None else ""
        return f"{self.kind.value}{limit}{' ' + values if values else ''}{place}"


@dataclass(frozen=True, slots=True)
class Routing:
    """Skills that a request should match, and those it must not."""

    wanted: tuple[str, ...] = ()
    unwanted: tuple[str, ...] = ()
    implied: bool = False
    """Whether the routing is undeclared, and implied because the request is part of a skill's own
    evaluation."""


@dataclass(frozen=True, slots=True)
class CaseFile:
    """A file for the folder of a case: another file of the skill, or its text."""

    path: str
    source: str | None = None
    """Relative to the skill, or to the file of cases."""
    content: str | None = None


@dataclass(frozen=True, slots=True)
class ScriptCall:
    """A call of a script with its input and expected result."""

    script: str
    arguments: tuple[str, ...] = ()
    exit_code: int | None = None
    stdout: tuple[str, ...] = ()
    """Texts that the output must contain."""
    json: object = None
    """A JSON document that must be a subset of the printed one."""
    schema: Mapping[str, object] | None = None
    produced: Mapping[str, object] = field(default_factory=dict)
    """Files that must exist afterwards: their text, `null` for any, or a mapping with `contains`."""


@dataclass(frozen=True, slots=True)
class Case:
    """One test, in any format."""

    id: str
    prompts: tuple[str, ...] = ()
    """User messages, one per turn."""
    name: str = ""
    skill: str | None = None
    routing: Routing | None = None
    checks: tuple[Check, ...] = ()
    expected_output: str = ""
    files: tuple[CaseFile, ...] = ()
    script: ScriptCall | None = None
    runs: int | None = None
    seconds: float | None = None
    split: str = ""

    @property
    def title(self) -> str:
        return self.name or self.id


@dataclass(frozen=True, slots=True)
class AssignedCase:
    """A case with the skill that it tests, and its file."""

    case: Case
    skill: SkillMetadata
    suite: Path


@dataclass(frozen=True, slots=True)
class Suite:
    """A file of cases."""

    path: Path
    format: str
    cases: tuple[Case, ...] = ()
    skill: str | None = None
    notes: tuple[str, ...] = ()
    """Unused content of the file, and missing files that it names."""
    parts: tuple[Path, ...] = ()
    """Other files that it names and that were read with it."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file without runnable cases, and the reason."""

    path: Path
    reason: str
