"""A SQLite file in the user's cache folder: shared by processes, and never worth an error."""

import contextlib
import logging
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import RLock
from typing import TypeVar

from skillkit.core.disk import locked

logger = logging.getLogger(__name__)
Result = TypeVar("Result")
BUSY_SECONDS = 5.0
_TABLE = re.compile(r"CREATE (?:VIRTUAL )?TABLE (\w+)")
_COMPANIONS = ("", "-wal", "-shm", "-journal")


class CacheDatabase:
    """Transactions on one file. A damaged or foreign file is replaced by an empty one; where no file
    can be had, every transaction gives its default, and the program works without a cache."""

    def __init__(self, path: Path, schema: str, version: int) -> None:
        self.path = path
        self.schema = schema
        self.version = version
        self._connection: sqlite3.Connection | None = None
        self._process = 0
        self._lock = RLock()

    def read(self, work: Callable[[sqlite3.Connection], Result], default: Result) -> Result:
        """`work` that only reads, and so waits for nobody."""
        return self._attempted(lambda: work(self._connected()), default)

    def write(self, work: Callable[[sqlite3.Connection], Result], default: Result) -> Result:
        """`work` in one transaction that excludes other writers."""

        def transaction() -> Result:
            with self._transaction() as connection:
                return work(connection)

        return self._attempted(transaction, default)

    def _attempted(self, work: Callable[[], Result], default: Result) -> Result:
        with self._lock:
            for attempt in ("as it is", "rebuilt"):
                try:
                    return work()
                except sqlite3.DatabaseError as error:
                    self.close()
                    if isinstance(error, sqlite3.OperationalError) and not _is_damage(error):
                        logger.debug("The cache %s is not used: %s", self.path, error)
                        return default
                    if attempt == "as it is":
                        logger.info("The cache %s is damaged and made anew: %s", self.path, error)
                        self._replace()
                except OSError as error:
                    logger.debug("The cache %s is not used: %s", self.path, error)
                    return default
            return default

    def close(self) -> None:
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                with contextlib.suppress(sqlite3.Error):
                    self._connection.close()
            self._connection = None

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        connection = self._connected()
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    def _connected(self) -> sqlite3.Connection:
        if self._connection is not None and self._process == os.getpid():
            return self._connection
        own_folder(self.path.parent)
        connection = sqlite3.connect(
            self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            self._ensure_schema(connection)
        except BaseException:
            connection.close()
            raise
        self._connection, self._process = connection, os.getpid()
        return connection

    def _ensure_schema(self, connection: sqlite3.Connection) -> None:
        if _version(connection) == self.version:
            return
        connection.execute("BEGIN IMMEDIATE")
        found = _version(connection)  # another process may have been first
        if found not in (0, self.version):
            connection.execute("ROLLBACK")
            raise sqlite3.DatabaseError(f"made by another version ({found})")
        if found == 0:
            for statement in filter(str.strip, self.schema.split(";")):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {self.version:d}")
        connection.execute("COMMIT")

    def _replace(self) -> None:
        """Remove the file, unless another process has just made it anew."""
        with locked(Path(f"{self.path}.lock")):
            if self._is_sound():
                return
            for companion in _COMPANIONS:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(f"{self.path}{companion}")

    def _is_sound(self) -> bool:
        try:
            with contextlib.closing(sqlite3.connect(self.path, timeout=BUSY_SECONDS)) as connection:
                verdict = connection.execute("PRAGMA quick_check(1)").fetchone()
                tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
                return (
                    verdict == ("ok",)
                    and _version(connection) == self.version
                    and tables.issuperset(_TABLE.findall(self.schema))
                )
        except sqlite3.Error:
            return False


def own_folder(folder: Path) -> None:
    """Make `folder` for this user alone; refuse one that belongs to somebody else."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_uid != os.geteuid():
        raise PermissionError(f"{folder} belongs to another user")


def _version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def _is_damage(error: sqlite3.OperationalError) -> bool:
    """Whether the tables are not what they should be, rather than busy, full or out of reach."""
    return any(sign in str(error) for sign in ("no such table", "no such column", "has no column"))
