"""The database: plain SQL behind one small class, so that a second kind of database fits."""

import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from skillkit.core.disk import locked, open_private
from skillkit.core.exceptions import StateFileError
from skillkit.registry.schema import MIGRATIONS

BUSY_SECONDS = 30.0
Row = Mapping[str, Any]


class Database:
    """SQLite in WAL mode: every thread reads by its own connection, one transaction writes at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        open_private(path)
        with locked(path.with_name(f"{path.name}.lock")):
            self._migrate()

    def close(self) -> None:
        with self._lock:
            for connection in self._opened:
                connection.close()
            self._opened.clear()

    def rows(self, sql: str, *values: object) -> list[Row]:
        return [dict(row) for row in self._connection().execute(sql, values)]

    def row(self, sql: str, *values: object) -> Row | None:
        """The first row, None where there is none."""
        return next(iter(self.rows(sql, *values)), None)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """What is read in the block, by this thread, belongs to one moment."""
        connection = self._connection()
        connection.execute("BEGIN")
        try:
            yield
        finally:
            connection.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator["Database"]:
        """One transaction: all of the block is kept, or nothing; it is on disk when the block has ended."""
        connection = self._connection()
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield self
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    def insert(self, table: str, values: Mapping[str, object]) -> int:
        """Add a row and return its id."""
        places = ", ".join("?" for _ in values)
        sql = f"INSERT INTO {table} ({', '.join(values)}) VALUES ({places})"
        return self._connection().execute(sql, tuple(values.values())).lastrowid or 0

    def run(self, sql: str, *values: object) -> int:
        """Change rows inside `writing`; return how many."""
        return self._connection().execute(sql, values).rowcount

    def index(self, skill: int, name: str, description: str) -> None:
        """Let the search find a skill by these texts."""
        self.unindex(skill)
        self.insert("search", {"rowid": skill, "name": name, "description": description})

    def unindex(self, skill: int) -> None:
        self.run("DELETE FROM search WHERE rowid = ?", skill)

    def search(
        self,
        words: Sequence[str],
        *,
        every: bool,
        condition: str,
        values: Sequence[object],
        limit: int,
        ranked: int,
    ) -> list[int]:
        """The skills that have every word, or any, best first.

        Only the first `ranked` matches that satisfy `condition` are compared: a word that everybody uses
        would otherwise cost a comparison of the whole registry.
        """
        joint = " AND " if every else " OR "
        asked = joint.join('"' + word.replace('"', '""') + '"' for word in words)
        found = self.rows(
            "SELECT id FROM (SELECT search.rowid AS id, bm25(search, 4.0, 1.0) AS score FROM search"
            " JOIN skill ON skill.id = search.rowid JOIN owner ON owner.id = skill.owner"
            f" WHERE search MATCH ? AND ({condition}) LIMIT ?) ORDER BY score LIMIT ?",
            asked,
            *values,
            ranked,
            limit,
        )
        return [row["id"] for row in found]

    def _connection(self) -> sqlite3.Connection:
        found: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if found is None:
            found = sqlite3.connect(
                self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            found.row_factory = sqlite3.Row
            found.execute("PRAGMA journal_mode = WAL")
            found.execute("PRAGMA synchronous = FULL")
            found.execute("PRAGMA foreign_keys = ON")
            self._local.connection = found
            with self._lock:
                self._opened.append(found)
        return found

    def _migrate(self) -> None:
        try:
            version = self._connection().execute("PRAGMA user_version").fetchone()[0]
        except sqlite3.DatabaseError as error:
            raise StateFileError(f"{self.path} is not a database of a registry: {error}") from error
        if version > len(MIGRATIONS):
            raise StateFileError(
                f"{self.path} was written by a newer skillkit (schema {version}, this one knows "
                f"{len(MIGRATIONS)}). Update skillkit; the file is left as it is."
            )
        for number in range(version, len(MIGRATIONS)):
            self._connection().executescript(
                f"BEGIN IMMEDIATE; {MIGRATIONS[number]}; PRAGMA user_version = {number + 1}; COMMIT;"
            )
