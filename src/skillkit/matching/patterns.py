"""Patterns that authors write, run on RE2: its time grows with the text, whatever the pattern is."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from skillkit.core.models import Diagnostic, Severity

LONGEST_PATTERN = 1_000
MEMORY = 1 << 20


class Compiled(Protocol):
    """A pattern that can be looked for."""

    def search(self, text: str) -> object | None: ...


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern as its author wrote it, ready to run."""

    text: str
    compiled: Compiled


def available() -> bool:
    """Whether the RE2 engine is installed; Python's own `re` never runs an author's pattern."""
    return find_spec("re2") is not None


def compile_pattern(text: str, path: Path) -> Pattern | Diagnostic:
    """A pattern without regard to case, or why it cannot be used."""
    if len(text) > LONGEST_PATTERN:
        return _refused(text, path, f"has {len(text)} characters; the limit is {LONGEST_PATTERN}")
    if not available():
        return Diagnostic(
            path,
            "pattern-unavailable",
            Severity.INFO,
            f"The trigger pattern {_shown(text)} is not used: "
            "install the engine with pip install 'skillkit[patterns]'",
        )
    import re2

    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    options.max_mem = MEMORY
    try:
        return Pattern(text, re2.compile(text, options))
    except re2.error as error:
        reason = error.args[0] if error.args else "not valid"
        if isinstance(reason, bytes):
            reason = reason.decode("utf-8", "replace")
        return _refused(text, path, f"cannot be used ({reason})")


def _refused(text: str, path: Path, why: str) -> Diagnostic:
    return Diagnostic(path, "bad-pattern", Severity.WARNING, f"The trigger pattern {_shown(text)} {why}")


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:59]}…")
