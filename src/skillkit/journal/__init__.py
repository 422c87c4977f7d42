"""What happened to skills: events, the file they are kept in, and what can be asked of it."""

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
