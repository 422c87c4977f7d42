"""The catalogue on disk: a warm start reads only what changed, and thousands of skills can be searched."""

import os
import sqlite3
import time
import weakref
from collections.abc import Collection, Mapping
from pathlib import Path
from threading import Lock
from typing import NamedTuple, Protocol

from skillkit import __version__
from skillkit.core.cache import Stamp
from skillkit.core.models import SkillMetadata
from skillkit.matching import records
from skillkit.matching.database import CacheDatabase
from skillkit.matching.settings import cache_folder
from skillkit.matching.terms import terms

MOST_SKILLS = 50_000
WAITING = 500
"""Skills that are written together."""
MOST_TERMS = 32
FETCHED = 20_000
_DAY = 86_400
_WEIGHTS = "4.0, 1.0, 2.0"
_SCHEMA = """
CREATE TABLE skills (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL,
    inode INTEGER NOT NULL, made_by TEXT NOT NULL, record TEXT NOT NULL, used INTEGER NOT NULL
);
CREATE INDEX skills_used ON skills (used);
CREATE VIRTUAL TABLE words USING fts5 (name, description, triggers)
"""


class CatalogHit(NamedTuple):
    """A skill that a search found; `relevance` compares within one search only."""

    skill: SkillMetadata
    relevance: float


class CatalogIndex(Protocol):
    """Remembers skills by the state of their file, and searches among them."""

    def get(self, path: str, stamp: Stamp) -> SkillMetadata | None: ...

    def put(self, path: str, stamp: Stamp, metadata: SkillMetadata) -> None: ...

    def search(self, query: str, limit: int = 10, among: Collection[str] | None = None) -> list[CatalogHit]:
        """The skills that share words with `query`, best first; `among` are paths of SKILL.md files."""
        ...


class SqliteCatalogIndex:
    """A CatalogIndex in the user's cache folder that many processes share.

    It is a cache: it can be deleted at any time, it is made anew when it is damaged or of another
    version, and where it cannot be had the program works without it.
    """

    def __init__(self, folder: Path, *, most: int = MOST_SKILLS) -> None:
        self._store = _Store(CacheDatabase(folder / "catalogue.sqlite", _SCHEMA, records.FORMAT), most)
        # What is still waiting is written when the index goes, at the latest when the program ends.
        self._finalizer = weakref.finalize(self, self._store.close)

    def get(self, path: str, stamp: Stamp) -> SkillMetadata | None:
        """The skill as it was found when the file was in this state."""
        return self._store.get(path, stamp)

    def put(self, path: str, stamp: Stamp, metadata: SkillMetadata) -> None:
        """Remember a skill; it is written with the next ones, or by `flush`."""
        self._store.put(path, stamp, metadata)

    def flush(self) -> None:
        """Write what is waiting."""
        self._store.flush()

    def search(self, query: str, limit: int = 10, among: Collection[str] | None = None) -> list[CatalogHit]:
        """The skills that share words with `query`, best first."""
        self._store.flush()
        return self._store.search(query, limit, among)

    def close(self) -> None:
        """Write what is waiting and let go of the file."""
        self._finalizer()


def shared_index(environment: Mapping[str, str] | None = None) -> SqliteCatalogIndex | None:
    """The index in the user's cache folder; None for a user who has none."""
    folder = cache_folder(os.environ if environment is None else environment)
    return None if folder is None else SqliteCatalogIndex(folder)


class _Waiting(NamedTuple):
    stamp: Stamp
    record: str
    metadata: SkillMetadata


class _Row(NamedTuple):
    number: int
    state: tuple[object, ...]
    """Stamp and version for which the record holds."""
    record: str
    used: int


class _Store:
    """The tables, and what is to be written to them."""

    def __init__(self, database: CacheDatabase, most: int) -> None:
        self._database = database
        self._most = most
        self._waiting: dict[str, _Waiting] = {}
        self._used: set[int] = set()
        self._folders: set[str] = set()
        self._fetched: dict[str, _Row] = {}
        self._given: set[str] = set()
        self._lock = Lock()

    def get(self, path: str, stamp: Stamp) -> SkillMetadata | None:
        with self._lock:
            waiting = self._waiting.get(path)
            if waiting is not None:
                return waiting.metadata if waiting.stamp == stamp else None
            row = self._row(path)
            if row is None or row.state != (*_signed(stamp), __version__):
                return None
            if row.used < _today():
                self._used.add(row.number)
        skill = records.decode(row.record)
        return skill if skill is not None and str(skill.skill_path) == path else None

    def _row(self, path: str) -> "_Row | None":
        """The row of `path`. The first question about a folder of skills fetches all of it at once,
        because discovery asks for one after the other and a query each would cost more than reading."""
        folder = path.rsplit("/", 2)[0] + "/"
        if folder not in self._folders:
            self._folders.add(folder)
            self._fetched.update(self._rows("path >= ? AND path < ?", (folder, folder[:-1] + "0")))
        if path in self._given:
            return self._rows("path = ?", (path,)).get(path)
        self._given.add(path)
        return self._fetched.pop(path, None)

    def _rows(self, condition: str, values: tuple[str, ...]) -> "dict[str, _Row]":
        def work(connection: sqlite3.Connection) -> dict[str, _Row]:
            rows = connection.execute(
                "SELECT path, id, mtime_ns, size, inode, made_by, record, used FROM skills"
                f" WHERE {condition} LIMIT {FETCHED}",
                values,
            )
            return {
                path: _Row(number, tuple(state), record, used) for path, number, *state, record, used in rows
            }

        nothing: dict[str, _Row] = {}
        return self._database.read(work, nothing)

    def put(self, path: str, stamp: Stamp, metadata: SkillMetadata) -> None:
        record = records.encode(metadata)
        if record is None or str(metadata.skill_path) != path:
            return
        with self._lock:
            self._waiting[path] = _Waiting(stamp, record, metadata)
            full = len(self._waiting) >= WAITING
        if full:
            self.flush()

    def flush(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, {}
            used, self._used = self._used, set()
        if waiting or used:
            self._database.write(lambda connection: self._write(connection, waiting, used), None)

    def close(self) -> None:
        self.flush()
        self._database.close()

    def search(self, query: str, limit: int, among: Collection[str] | None) -> list[CatalogHit]:
        wanted = list(dict.fromkeys(terms(query)))[:MOST_TERMS]
        if not wanted or limit <= 0:
            return []
        allowed = None if among is None else frozenset(among)

        def work(connection: sqlite3.Connection) -> list[CatalogHit]:
            hits: list[CatalogHit] = []
            rows = connection.execute(
                f"SELECT path, record, bm25(words, {_WEIGHTS}) AS rank FROM words"
                " JOIN skills ON skills.id = words.rowid WHERE words MATCH ? ORDER BY rank, path",
                (" OR ".join(f'"{term}"' for term in wanted),),
            )
            for path, record, rank in rows:
                if allowed is not None and path not in allowed:
                    continue
                skill = records.decode(record)
                if skill is not None:
                    hits.append(CatalogHit(skill, -rank))
                if len(hits) == limit:
                    break
            return hits

        nothing: list[CatalogHit] = []
        return self._database.read(work, nothing)

    def _write(
        self, connection: sqlite3.Connection, waiting: dict[str, _Waiting], used: Collection[int]
    ) -> None:
        today = _today()
        connection.executemany("UPDATE skills SET used = ? WHERE id = ?", [(today, one) for one in used])
        for path, (stamp, record, skill) in waiting.items():
            (number,) = connection.execute(
                "INSERT INTO skills (path, mtime_ns, size, inode, made_by, record, used)"
                " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET mtime_ns = excluded.mtime_ns,"
                " size = excluded.size, inode = excluded.inode, made_by = excluded.made_by,"
                " record = excluded.record, used = excluded.used RETURNING id",
                (path, *_signed(stamp), __version__, record, today),
            ).fetchone()
            connection.execute("DELETE FROM words WHERE rowid = ?", (number,))
            connection.execute(
                "INSERT INTO words (rowid, name, description, triggers) VALUES (?, ?, ?, ?)",
                (number, *_words(skill)),
            )
        (count,) = connection.execute("SELECT count(*) FROM skills").fetchone()
        if count > self._most:
            surplus = [
                row[0]
                for row in connection.execute(
                    "SELECT id FROM skills ORDER BY used, id LIMIT ?", (count - self._most,)
                )
            ]
            for table, column in (("words", "rowid"), ("skills", "id")):
                connection.executemany(
                    f"DELETE FROM {table} WHERE {column} = ?", [(number,) for number in surplus]
                )


def _words(skill: SkillMetadata) -> tuple[str, str, str]:
    """The columns in our own terms, so that stop words, stems and unspaced scripts are ours too."""
    triggers = " ".join((*skill.triggers.keywords, *skill.triggers.verbs))
    name = skill.name.replace("_", " ")
    return " ".join(terms(name)), " ".join(terms(skill.description)), " ".join(terms(triggers))


def _signed(stamp: Stamp) -> tuple[int, int, int]:
    """An inode can use all 64 bits, which SQLite counts as a signed number."""
    inode = stamp.inode if stamp.inode < 1 << 63 else stamp.inode - (1 << 64)
    return stamp.mtime_ns, stamp.size, inode


def _today() -> int:
    return int(time.time()) // _DAY
