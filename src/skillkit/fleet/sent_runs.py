"""Persistent log of runs that a gateway sent and has not completed, so that a restart repeats none."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_FIELDS = ("name", "tenant", "digest", "worker", "sent", "keep")


class SentRunLog:
    """A table beside the gateway, for one process at a time."""

    def __init__(self, path: Path) -> None:
        self._table = sqlite3.connect(path)
        self._table.execute("PRAGMA journal_mode=WAL")
        self._table.execute("PRAGMA synchronous=FULL")
        self._table.execute(f"CREATE TABLE IF NOT EXISTS sent ({', '.join(_FIELDS)}, PRIMARY KEY (name))")

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for row in self._table.execute(f"SELECT {', '.join(_FIELDS)} FROM sent").fetchall():
            yield dict(zip(_FIELDS, row, strict=True))

    def add(self, run: Any) -> None:
        """Record a run before it is sent; durable when this returns."""
        values = [getattr(run, field) for field in _FIELDS]
        self._table.execute(f"INSERT OR REPLACE INTO sent VALUES ({', '.join('?' * len(values))})", values)
        self._table.commit()

    def remove(self, name: str) -> None:
        """Remove a completed run; durable with the next `add`.

        If the removal is lost, its machine is asked once more.
        """
        self._table.execute("DELETE FROM sent WHERE name = ?", (name,))

    def close(self) -> None:
        """Flush removals."""
        self._table.commit()
        self._table.close()
