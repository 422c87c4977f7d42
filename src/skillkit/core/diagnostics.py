"""Findings about a file, as data."""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from skillkit.core.text import escape_hidden


class Severity(str, Enum):
    """An error keeps a skill from loading; a warning and an info do not."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A finding about a file, as data."""

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


RULES: dict[str, Severity] = {
    "no-header": Severity.WARNING,
    "unterminated-header": Severity.WARNING,
    "unquoted-value": Severity.WARNING,
    "broken-field": Severity.WARNING,
    "missing-name": Severity.WARNING,
    "name-separator": Severity.WARNING,
    "byte-order-mark": Severity.WARNING,
    "blank-lines-first": Severity.WARNING,
    "name-format": Severity.WARNING,
    "name-folder": Severity.WARNING,
    "description-length": Severity.WARNING,
    "compatibility-length": Severity.WARNING,
    "wrong-type": Severity.WARNING,
    "lenient-value": Severity.WARNING,
    "trigger": Severity.WARNING,
    "duplicate-field": Severity.WARNING,
    "misspelled-field": Severity.WARNING,
    "hidden-characters": Severity.WARNING,
    "grant-dropped": Severity.WARNING,
    "more": Severity.WARNING,
    "extension-field": Severity.INFO,
    "unknown-field": Severity.INFO,
}
"""The severity of each rule when loading. Under `strict`, all are errors."""
