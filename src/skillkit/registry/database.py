"""The database: plain SQL behind one small class."""

import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from skillkit.core.exceptions import StateFileError
from skillkit.registry import schema

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Search:
    """A search for skills that have every word, or any, among those that satisfy a condition of SQL."""

    words: Sequence[str]
    every: bool
    condition: str
    values: Sequence[object]
    limit: int
    ranked: int
    """Only so many matches are scored: a word that everybody uses would cost a score of every skill."""


class Database(ABC):
    """SQL with `?` for values. Every thread has its own connection; one transaction writes at a time."""

    place: str
    """Where it is, without a password."""

    def __init__(self) -> None:
        self._local = threading.local()
        self._opened: list[Any] = []
        self._lock = threading.Lock()
        weakref.finalize(self, _close, self._opened)

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._lock:
            _close(self._opened)

    def _keep(self, connection: Any) -> None:
        """Make a connection the one of this thread."""
        self._local.connection = connection
        with self._lock:
            self._opened.append(connection)

    @abstractmethod
    def rows(self, sql: str, *values: object) -> list[Row]:
        """Return all rows of a query."""

    def row(self, sql: str, *values: object) -> Row | None:
        """Return the first row, or None."""
        return next(iter(self.rows(sql, *values)), None)

    @abstractmethod
    def columns(self, table: str) -> set[str]:
        """Return the names of a table's columns."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[None]:
        """Read from one snapshot in the block, on this thread."""

    @abstractmethod
    def writing(self) -> AbstractContextManager["Database"]:
        """Run the block as one transaction, durable when it ends."""

    @abstractmethod
    def insert(self, table: str, values: Mapping[str, object]) -> int:
        """Insert a row and return its id, 0 if the table has none."""

    @abstractmethod
    def run(self, sql: str, *values: object) -> int:
        """Change rows inside `writing` and return how many."""

    def keep_ids(self, table: str) -> None:  # noqa: B027 - SQLite goes by the highest id anyway
        """Continue ids after those that were inserted explicitly."""

    @abstractmethod
    def index(self, skill: int, name: str, description: str) -> None:
        """Index a skill by these texts."""

    @abstractmethod
    def unindex(self, skill: int) -> None:
        """Remove a skill from the index."""

    @abstractmethod
    def search(self, search: Search) -> list[int]:
        """Return the ids of the skills that match, best first."""


def check_schema(place: str, version: int) -> None:
    """Raise StateFileError if the database was written by a newer program."""
    if version > len(schema.MIGRATIONS):
        raise StateFileError(
            f"{place} was written by a newer skillkit (schema {version}, this one knows "
            f"{len(schema.MIGRATIONS)}). Update skillkit; the database is left as it is."
        )


def insertion(table: str, values: Mapping[str, object]) -> str:
    """Return the SQL that inserts a row; a column's name may be a reserved word."""
    columns = ", ".join(f'"{name}"' for name in values)
    return f"INSERT INTO {table} ({columns}) VALUES ({', '.join('?' for _ in values)})"


def _close(connections: list[Any]) -> None:
    for connection in connections:
        connection.close()
    connections.clear()
