"""The nouns of testing a skill: cases, what is expected of them, and the files they come from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from types import MappingProxyType

NOTHING: Mapping[str, object] = MappingProxyType({})


class CheckKind(str, Enum):
    """What a check looks at."""

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
    """A sentence that only somebody who understands it can judge."""
    UNKNOWN = "unknown"
    """A kind that a format knows and this library does not; it is never judged."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must hold of what a run did."""

    kind: CheckKind
    values: tuple[str, ...] = ()
    """Texts, expressions or names; all of them must be there unless `any_of`."""
    any_of: bool = False
    same_case: bool = False
    """Whether upper and lower case are different."""
    ordered: bool = False
    """Tool calls: in this order."""
    exact: bool = False
    """Tool calls: these and no others."""
    path: str = ""
    """A file or glob, relative to the folder of the run."""
    limit: float | None = None
    data: object = None
    """A JSON schema, an expected document, or for each tool call a pattern of its arguments, the
    arguments themselves, or None."""
    text: str = ""
    """What the author wrote."""
    compiled: bool = False
    """Made from a sentence."""
    note: str = ""
    """Why it cannot be judged, where that is known beforehand."""

    @property
    def shown(self) -> str:
        """The check in a few words."""
        values = (" or " if self.any_of else ", ").join(repr(value) for value in self.values[:4])
        place = f" in {self.path}" if self.path else ""
        limit = f" {self.limit:g}" if self.limit is not None else ""
        return f"{self.kind.value}{limit}{' ' + values if values else ''}{place}"


@dataclass(frozen=True, slots=True)
class Routing:
    """Which skills a request should bring, and which it must not."""

    wanted: tuple[str, ...] = ()
    unwanted: tuple[str, ...] = ()
    implied: bool = False
    """Nobody wrote it: the request stands in a skill's own evaluation, so it is meant for the skill."""


@dataclass(frozen=True, slots=True)
class CaseFile:
    """A file that a case finds in its folder: another file of the skill, or its text."""

    path: str
    source: str | None = None
    """Relative to the skill, or to the file of cases."""
    content: str | None = None


@dataclass(frozen=True, slots=True)
class ScriptCall:
    """A script of the skill, what it is given, and what must come of it."""

    script: str
    arguments: tuple[str, ...] = ()
    exit_code: int | None = None
    stdout: tuple[str, ...] = ()
    """Texts that must be printed."""
    json: object = None
    """A document of which the printed one must be a superset."""
    schema: Mapping[str, object] | None = None
    produced: Mapping[str, object] = field(default_factory=lambda: NOTHING)
    """Files that must exist afterwards: their text, `null` for any, or a mapping with `contains`."""


@dataclass(frozen=True, slots=True)
class Case:
    """One test, whatever format it was written in."""

    id: str
    prompts: tuple[str, ...] = ()
    """What the user says, turn by turn."""
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
class Suite:
    """A file of cases."""

    path: Path
    format: str
    cases: tuple[Case, ...] = ()
    skill: str | None = None
    notes: tuple[str, ...] = ()
    """What the file says that is not used, and files it names that are not there."""
    parts: tuple[Path, ...] = ()
    """Other files that it names and that were read with it."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that holds no cases that can be run, and why."""

    path: Path
    reason: str
