"""What happened to skills: events, the file they are kept in, and what can be asked of it."""

from skillkit.core.events import Event, Kind, Writer
from skillkit.core.place import Place, at, here
from skillkit.journal.reading import EventFilter, JournalReader
from skillkit.journal.sqlite import SqliteJournal
from skillkit.journal.usage import SkillUsage

__all__ = [
    "Event",
    "EventFilter",
    "JournalReader",
    "Kind",
    "Place",
    "SkillUsage",
    "SqliteJournal",
    "Writer",
    "at",
    "here",
]
