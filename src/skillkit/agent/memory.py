"""Facts that the agent remembers across conversations, in a local SQLite database."""

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
from skillkit.matching.terms import terms

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
_REMEMBER = "remember "
_SECRET = re.compile(r"\b(?:pass(?:word|phrase|code)?|secret|token|api[ _-]?key|pin|credential)s?\b", re.I)
"""Words that indicate a secret: a fact with one of them is refused."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact that the user or the model asked to remember."""

    id: int
    text: str
    stated_at: str


class Memory:
    """The facts of one user; every call opens the database anew, so that programs may share it."""

    def __init__(self, home: Path | None = None) -> None:
        self.path = (home or agent_home()) / "memory.db"

    def learn(self, said: str) -> str | None:
        """Store the text after "remember" at the start of a message; return the stored fact."""
        if not said.lstrip().lower().startswith(_REMEMBER):
            return None
        return self.keep(said.lstrip()[len(_REMEMBER) :].removeprefix("that "))

    def keep(self, fact: str) -> str | None:
        """Store a fact; return None if it is empty, longer than `MAX_FACT` or seems to contain a secret."""
        text = one_line(strip_hidden(fact)).strip()
        if not text or len(text) > MAX_FACT or _SECRET.search(text):
            return None
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with self._open(new=True) as database:
            database.execute("DELETE FROM facts WHERE subject = ?", (text.lower(),))
            database.execute(
                "INSERT INTO facts(subject, text, stated_at) VALUES (?, ?, ?)", (text.lower(), text, now)
            )
        return text

    def recall(self, request: str, limit: int = MAX_RECALLED) -> list[Fact]:
        """Return all facts if they are few, else those that share a word with the request."""
        facts = self.all()
        return facts if len(facts) <= limit else self.search(request, limit)

    def search(self, words: str, limit: int = 20) -> list[Fact]:
        """Return facts that contain any of the words, best first."""
        wanted = [word for word in re.findall(r"\w+", words.lower()) if terms(word)]
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
        """Return all facts, the newest first."""
        if not self.path.exists():
            return []
        with self._open() as database:
            return [
                Fact(*row)
                for row in database.execute("SELECT id, text, stated_at FROM facts ORDER BY id DESC")
            ]

    def forget(self, identity: int | None = None) -> int:
        """Delete one fact, or all of them; return how many were deleted."""
        with self._open() as database:
            if identity is None:
                return database.execute("DELETE FROM facts").rowcount
            return database.execute("DELETE FROM facts WHERE id = ?", (identity,)).rowcount

    @contextmanager
    def _open(self, *, new: bool = False) -> Iterator[sqlite3.Connection]:
        """Open the database; without a file and `new`, open an empty one."""
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
                f"The memory {self.path} cannot be used ({error}). Move the file away to start over"
            ) from error
