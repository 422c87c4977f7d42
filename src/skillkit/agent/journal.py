"""Location of the program's journal."""

from pathlib import Path

from skillkit.core.disk import agent_home
from skillkit.core.events import Writer
from skillkit.journal.sqlite import SqliteJournal


def journal_path() -> Path:
    """Return the path of the journal that all runs of the program on this machine share."""
    return agent_home() / "journal.sqlite"


def open_journal() -> Writer:
    """Open the journal for writing."""
    return SqliteJournal(journal_path())
