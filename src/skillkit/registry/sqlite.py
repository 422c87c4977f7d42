"""SQLite, and opening either kind of database."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from skillkit.core.disk import locked, open_private
from skillkit.core.exceptions import StateFileError
from skillkit.registry import schema
from skillkit.registry.database import Database, Row, Search, check_schema, insertion

BUSY_SECONDS = 30.0
POSTGRESQL = ("postgresql://", "postgres://")


def open_database(place: str | Path) -> Database:
    """Open a SQLite file, or the PostgreSQL database at a URL. Raises StateFileError, ImportError."""
    if str(place).startswith(POSTGRESQL):
        from skillkit.registry.postgres import PostgresDatabase

        return PostgresDatabase(str(place))
    return SqliteDatabase(Path(place))


class SqliteDatabase(Database):
    """SQLite in WAL mode."""

    def __init__(self, path: Path) -> None:
        self.place = str(path)
        self.path = path
        super().__init__()
        open_private(path)
        with locked(path.with_name(f"{path.name}.lock")):
            self._migrate()

    def rows(self, sql: str, *values: object) -> list[Row]:
        return [dict(row) for row in self._connection().execute(sql, values)]

    def columns(self, table: str) -> set[str]:
        return {row["name"] for row in self.rows(f"PRAGMA table_info({table})")}

    @contextmanager
    def reading(self) -> Iterator[None]:
        connection = self._connection()
        connection.execute("BEGIN")
        try:
            yield
        finally:
            connection.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[Database]:
        connection = self._connection()
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield self
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:  # where the disk is full, SQLite has rolled back itself
                connection.execute("ROLLBACK")
            raise

    def insert(self, table: str, values: Mapping[str, object]) -> int:
        return self._connection().execute(insertion(table, values), tuple(values.values())).lastrowid or 0

    def run(self, sql: str, *values: object) -> int:
        return self._connection().execute(sql, values).rowcount

    def index(self, skill: int, name: str, description: str) -> None:
        self.unindex(skill)
        self.insert("search", {"rowid": skill, "name": name, "description": description})

    def unindex(self, skill: int) -> None:
        self.run("DELETE FROM search WHERE rowid = ?", skill)

    def search(self, search: Search) -> list[int]:
        joint = " AND " if search.every else " OR "
        asked = joint.join('"' + word.replace('"', '""') + '"' for word in search.words)
        found = self.rows(
            "SELECT id FROM (SELECT search.rowid AS id, bm25(search, 4.0, 1.0) AS score FROM search"
            " JOIN skill ON skill.id = search.rowid JOIN owner ON owner.id = skill.owner"
            f" WHERE search MATCH ? AND ({search.condition}) LIMIT ?) ORDER BY score LIMIT ?",
            asked,
            *search.values,
            search.ranked,
            search.limit,
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
            self._keep(found)
        return found

    def _migrate(self) -> None:
        try:
            version = self._connection().execute("PRAGMA user_version").fetchone()[0]
        except sqlite3.DatabaseError as error:
            raise StateFileError(f"{self.path} is not a registry database: {error}") from error
        check_schema(self.place, version)
        for number, migration in enumerate(schema.MIGRATIONS[version:], version + 1):
            self._connection().executescript(
                f"BEGIN IMMEDIATE; {migration.tables}; {migration.sqlite};"
                f" PRAGMA user_version = {number}; COMMIT;"
            )
