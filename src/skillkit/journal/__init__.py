"""Events of skills: the journal that keeps them, and queries of it."""

from skillkit.core.events import ConversationTurn, Event, Kind, Writer, current_turn, in_turn
from skillkit.journal.reading import EventFilter, JournalReader
from skillkit.journal.sqlite import SqliteJournal
from skillkit.journal.usage import SkillUsage

__all__ = [
    "ConversationTurn",
    "Event",
    "EventFilter",
    "JournalReader",
    "Kind",
    "SkillUsage",
    "SqliteJournal",
    "Writer",
    "current_turn",
    "in_turn",
]
