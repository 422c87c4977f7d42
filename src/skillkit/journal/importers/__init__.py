"""Read logs of other agents on this machine as events; the logs are not changed or copied."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from skillkit.core.events import Event
from skillkit.journal.importers.claude_code import claude_code_events
from skillkit.journal.importers.codex import codex_events

Importer = Callable[[Path | None], Iterator[Event]]

IMPORTERS: Mapping[str, Importer] = {"claude-code": claude_code_events, "codex": codex_events}
"""Clients by name; each importer takes the client's folder, or finds it where the client keeps it."""

__all__ = ["IMPORTERS", "Importer", "claude_code_events", "codex_events"]
