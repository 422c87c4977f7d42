"""Where the program keeps its journal."""

from pathlib import Path

from skillkit.core.disk import agent_home
from skillkit.journal.events import Writer
from skillkit.journal.sqlite import SqliteJournal
from skillkit.journal.telemetry import TelemetryWriter, Writers


def journal_path() -> Path:
    """Return the file that every run of the program on this machine writes to."""
    return agent_home() / "journal.sqlite"


def open_journal() -> Writer:
    """Return a writer for the program: the file, and spans for those who collect them."""
    return Writers([SqliteJournal(journal_path()), TelemetryWriter()])
