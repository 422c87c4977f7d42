"""The journal on disk: an append-only SQLite file that any number of processes write at once."""

import atexit
import json
import logging
import os
import queue
import sqlite3
import threading
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from skillkit.core.events import Event, Kind, current_turn
from skillkit.core.names import canonical_name
from skillkit.journal.sensitive import Secrets

logger = logging.getLogger(__name__)

FORMAT = 1
MAX_WAITING = 20_000
"""Events in memory; a disk that cannot keep up costs events, not memory."""
MAX_DATA = 64 * 1024
KEEP_DAYS = 90
MAX_BYTES = 512 << 20
_BATCH = 500
_BUSY_SECONDS = 10.0
_PRUNE_EVERY = 5_000
SCHEMA = """
CREATE TABLE IF NOT EXISTS event (
    id INTEGER PRIMARY KEY,
    time REAL NOT NULL,
    kind TEXT NOT NULL,
    conversation TEXT NOT NULL,
    turn INTEGER NOT NULL,
    skill TEXT NOT NULL,
    digest TEXT NOT NULL,
    data TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS event_time ON event (time);
CREATE INDEX IF NOT EXISTS event_skill ON event (skill, kind, time);
CREATE INDEX IF NOT EXISTS event_kind ON event (kind, id);
CREATE INDEX IF NOT EXISTS event_conversation ON event (conversation, id);
"""
_INSERT = "INSERT INTO event (time, kind, conversation, turn, skill, digest, data) VALUES (?,?,?,?,?,?,?)"

Row = tuple[float, str, str, int, str, str, str]


class SqliteJournal:
    """Writes events in a background thread, so that recording never waits for the disk."""

    def __init__(self, path: Path, *, keep_days: float = KEEP_DAYS, max_bytes: int = MAX_BYTES) -> None:
        self.path = path
        self.keep_days = keep_days
        self.max_bytes = max_bytes
        self.problem: str | None = None
        """Why nothing is written any more; None while all is well."""
        self._open = threading.Lock()
        """Held while the file is open."""
        self._start()
        os.register_at_fork(
            before=self._open.acquire, after_in_parent=self._open.release, after_in_child=self._start_in_child
        )
        atexit.register(self.close)

    def _start(self) -> None:
        self._waiting: queue.SimpleQueue[Event | threading.Event | None] = queue.SimpleQueue()
        self._lost = 0
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def _start_in_child(self) -> None:
        self._open.release()
        self._start()

    def record(self, event: Event) -> None:
        if self.problem is not None:
            return
        if self._waiting.qsize() >= MAX_WAITING:
            self._lost += 1
            return
        if not event.conversation:
            turn = current_turn()
            if turn.conversation:
                event = Event(event.kind, event.skill, event.digest, event.data, *turn, time=event.time)
        self._waiting.put(event)
        if self._thread is None:
            self._start_thread()

    def flush(self, timeout: float = _BUSY_SECONDS) -> bool:
        """Wait until all recorded events are on disk; return whether they are."""
        if self._thread is None or self._stopped():
            return not self._stopped()
        written = threading.Event()
        self._waiting.put(written)
        until = time.monotonic() + timeout
        # A writer that stops meanwhile never handles this request.
        while not written.wait(0.05) and not self._stopped() and time.monotonic() < until:
            pass
        return written.is_set() and not self._stopped()

    def _stopped(self) -> bool:
        return self.problem is not None

    def close(self) -> None:
        thread = self._thread
        if thread is not None and thread.is_alive():
            self._waiting.put(None)
            thread.join(_BUSY_SECONDS)
        self._thread = None

    def _start_thread(self) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._write_all, name="skillkit-journal", daemon=True)
                self._thread.start()

    def _write_all(self) -> None:
        """Write queued events in batches until stopped."""
        written = _PRUNE_EVERY
        try:
            while (batch := self._next_batch(wait=True)).events or batch.waiters:
                # SQLite does not survive a fork with a database open: none is open while nothing is written.
                with self._open, closing(open_for_writing(self.path)) as database:
                    while batch.events or batch.waiters:
                        _insert(database, rows_of(batch.events))
                        for waiter in batch.waiters:
                            waiter.set()
                        written += len(batch.events)
                        if written >= _PRUNE_EVERY:
                            written = 0
                            prune(database, self.keep_days, self.max_bytes)
                        if batch.last:
                            return
                        batch = self._next_batch(wait=False)
                if batch.last:
                    return
        except (sqlite3.Error, OSError) as error:
            self.problem = str(error)
            logger.warning("The journal %s is no longer written: %s. Skills keep working.", self.path, error)
            self._release_waiters()

    def _next_batch(self, *, wait: bool) -> "_Batch":
        batch = _Batch([], [])
        while len(batch.events) < _BATCH:
            try:
                item = self._waiting.get(block=wait and not batch.events and not batch.waiters)
            except queue.Empty:
                break
            if item is None:
                batch.last = True
                break
            if isinstance(item, Event):
                batch.events.append(item)
            else:
                batch.waiters.append(item)
        if self._lost:
            lost, self._lost = self._lost, 0
            batch.events.append(Event(Kind.LOST, data={"count": lost}))
        return batch

    def _release_waiters(self) -> None:
        with suppress(queue.Empty):
            while True:
                item = self._waiting.get_nowait()
                if isinstance(item, threading.Event):
                    item.set()


@dataclass(slots=True)
class _Batch:
    """Events collected since the last write."""

    events: list[Event]
    waiters: list[threading.Event]
    last: bool = False


def open_for_writing(path: Path) -> sqlite3.Connection:
    """Open or create a journal: readable by its owner alone, safe for many writers."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)
    database = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    try:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        check_format(database, path)
        database.executescript(SCHEMA)
        database.execute(f"PRAGMA user_version = {FORMAT}")
    except BaseException:
        database.close()
        raise
    return database


def check_format(database: sqlite3.Connection, path: Path) -> None:
    """Raise for a journal that a newer skillkit wrote."""
    [version] = database.execute("PRAGMA user_version").fetchone()
    if version > FORMAT:
        raise sqlite3.DatabaseError(
            f"{path} was written by a newer skillkit (format {version}). "
            "Update skillkit, or move the file away"
        )


def prune(database: sqlite3.Connection, keep_days: float, max_bytes: int) -> int:
    """Delete expired events, then the oldest until the rest fits; return the number deleted."""
    cursor = database.execute("DELETE FROM event WHERE time < ?", (time.time() - keep_days * 86_400,))
    gone = cursor.rowcount
    while (size := size_of(database)) > max_bytes:
        [count] = database.execute("SELECT count(*) FROM event").fetchone()
        if not count:
            break
        share = max(1, int(count * min(1.0, 1.1 * (1 - max_bytes / size))))
        database.execute("DELETE FROM event WHERE id IN (SELECT id FROM event ORDER BY id LIMIT ?)", (share,))
        gone += share
    return gone


def size_of(database: sqlite3.Connection) -> int:
    """Return the bytes used by events, without free pages."""
    [pages], [free], [size] = (
        database.execute(f"PRAGMA {name}").fetchone()
        for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def _insert(database: sqlite3.Connection, rows: Sequence[Row]) -> None:
    if not rows:
        return
    database.execute("BEGIN IMMEDIATE")
    try:
        database.executemany(_INSERT, rows)
        database.execute("COMMIT")
    except BaseException:
        database.rollback()
        raise


def rows_of(events: Sequence[Event]) -> list[Row]:
    """Return events as they are stored, with secrets masked."""
    secrets = Secrets.of()
    return [_row(event, secrets) for event in events]


def _row(event: Event, secrets: Secrets) -> Row:
    data = secrets.json(event.data).encode("utf-8", "replace").decode()
    if len(data) > MAX_DATA:
        data = json.dumps({"too_large": len(data)})

    # Store canonical names: models and headers vary the spelling.
    skill = _storable(canonical_name(secrets.masked(event.skill)))
    conversation = _storable(secrets.masked(event.conversation))
    return event.time, event.kind.value, conversation, event.turn, skill, event.digest, data


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()[:256]
