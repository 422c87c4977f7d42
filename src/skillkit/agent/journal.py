"""Where the program keeps its journal."""

from pathlib import Path

from skillkit.core.disk import agent_home
from skillkit.core.events import Writer
from skillkit.journal.sqlite import SqliteJournal


def journal_path() -> Path:
    """Return the file that every run of the program on this machine writes to."""
    return agent_home() / "journal.sqlite"


def open_journal() -> Writer:
    """Return what the program writes to."""
    return SqliteJournal(journal_path())
