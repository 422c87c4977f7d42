"""What the agent remembers across conversations: facts the user stated, in SQLite, on this machine."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from skillkit.agent.exceptions import AgentError
from skillkit.core.disk import agent_home, open_private
from skillkit.core.text import one_line, strip_hidden

MAX_FACT = 300
MAX_RECALLED = 5
_SCHEMA = """
CREATE TABLE IF NOT EXISTS facts (
    id INTEGER PRIMARY KEY, subject TEXT NOT NULL UNIQUE, text TEXT NOT NULL, stated_at TEXT NOT NULL
);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(
    text, content=facts, content_rowid=id, tokenize='porter unicode61'
);
CREATE TRIGGER IF NOT EXISTS fact_stated AFTER INSERT ON facts BEGIN
    INSERT INTO words(rowid, text) VALUES (new.id, new.text);
END;
CREATE TRIGGER IF NOT EXISTS fact_forgotten AFTER DELETE ON facts BEGIN
    INSERT INTO words(words, rowid, text) VALUES ('delete', old.id, old.text);
END;
"""
# Statements about the user: what is said in answer to these later replaces what was said before.
_STATEMENT = re.compile(
    r"^(?:please\s+)?(?:(?:remember|note)(?:\s+that)?[:,]?\s+(?P<fact>.+)"
    r"|(?P<call>call me)\s+.+"
    r"|(?P<mine>(?:my|our)\s+(?:\w+\s+){0,3}?\w+)\s+(?:is|are|was|were)\s+.+"
    r"|i(?:'m|\s+am)\s+(?P<am>[^,;]+)"
    r"|i\s+(?P<verb>live|work|prefer|like|love|hate|use|speak|study|own|have)\s+.+)$",
    re.IGNORECASE,
)
_SECRET = re.compile(r"\b(?:pass(?:word|phrase|code)?|secret|token|api[ _-]?key|pin|credential)s?\b", re.I)
_ABOUT_ME = re.compile(r"\b(?:i|i'm|me|my|mine|our|we|us)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_IDLE_WORDS = frozenset(
    "a about am an and are be can could did do does for from have how i in is it know me my of on or our "
    "please remember s tell that the this to was we were what when where which who why will "
    "with you your".split()
)


@dataclass(frozen=True, slots=True)
class Fact:
    """Something the user said about themselves or asked to be kept."""

    id: int
    text: str
    stated_at: str


class Memory:
    """The facts of one user; every call opens the file anew, so that programs may share it."""

    def __init__(self, home: Path | None = None) -> None:
        self.path = (home or agent_home()) / "memory.db"

    def learn(self, said: str) -> list[str]:
        """Keep the statements in what the user said; returns what was kept."""
        learned = list(statements(said))
        if learned:
            now = datetime.now(UTC).isoformat(timespec="seconds")
            with self._open(new=True) as database:
                for subject, text in learned:
                    database.execute("DELETE FROM facts WHERE subject = ?", (subject,))
                    database.execute(
                        "INSERT INTO facts(subject, text, stated_at) VALUES (?, ?, ?)", (subject, text, now)
                    )
        return [text for _, text in learned]

    def recall(self, request: str, limit: int = MAX_RECALLED) -> list[Fact]:
        """Facts that a request is about; for one about the user, the latest when no word fits."""
        found = self.search(request, limit)
        if not found and _ABOUT_ME.search(request):
            found = self.all()[:limit]
        return found

    def search(self, words: str, limit: int = 20) -> list[Fact]:
        """Facts with any of the words, best first."""
        wanted = [word for word in re.findall(r"\w+", words.lower()) if word not in _IDLE_WORDS]
        if not wanted:
            return []
        query = " OR ".join(f'"{word}"' for word in wanted[:50])
        with self._open() as database:
            rows = database.execute(
                "SELECT facts.id, facts.text, stated_at FROM words JOIN facts ON facts.id = words.rowid "
                "WHERE words MATCH ? ORDER BY rank LIMIT ?",
                (query, limit),
            )
            return [Fact(*row) for row in rows]

    def all(self) -> list[Fact]:
        """Every fact, the newest first."""
        with self._open() as database:
            return [
                Fact(*row)
                for row in database.execute("SELECT id, text, stated_at FROM facts ORDER BY id DESC")
            ]

    def forget(self, identity: int | None = None) -> int:
        """Delete one fact, or all of them; returns how many are gone."""
        with self._open() as database:
            if identity is None:
                return database.execute("DELETE FROM facts").rowcount
            return database.execute("DELETE FROM facts WHERE id = ?", (identity,)).rowcount

    @contextmanager
    def _open(self, *, new: bool = False) -> Iterator[sqlite3.Connection]:
        """Open the file; where there is none, and none is to be made, what is opened is empty."""
        try:
            there = new or self.path.exists()
            if there:
                open_private(self.path)
            database = sqlite3.connect(self.path if there else ":memory:", timeout=30)
            try:
                database.execute("PRAGMA journal_mode=WAL")
                database.executescript(_SCHEMA)
                with database:
                    yield database
            finally:
                database.close()
        except OSError as error:
            why = error.strerror or error
            raise AgentError(
                f"The memory {self.path} cannot be used ({why}). Choose another AGENT_HOME"
            ) from error
        except sqlite3.DatabaseError as error:
            raise AgentError(
                f"The memory {self.path} cannot be used ({error}). Move the file away to start afresh"
            ) from error


def statements(said: str) -> Iterator[tuple[str, str]]:
    """Subject and text of each fact stated; questions and secrets are none."""
    for sentence in _SENTENCE.findall(strip_hidden(said)):
        text = one_line(sentence).strip()
        found = _STATEMENT.match(text.rstrip(".!"))
        if found is None or text.endswith("?") or len(text) > MAX_FACT or _SECRET.search(text):
            continue
        if fact := found["fact"]:
            yield from list(statements(fact)) or [(fact.lower(), fact)]
        elif found["call"]:
            yield "my name", text
        elif found["mine"]:
            yield found["mine"].lower(), text
        else:
            yield text.lower().rstrip(".!"), text
