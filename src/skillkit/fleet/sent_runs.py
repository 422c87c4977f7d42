"""Persistent log of the runs that a gateway sent, so that none is started twice, whatever is restarted."""

import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from skillkit.fleet.cluster import REMEMBERED

_FIELDS = ("name", "tenant", "digest", "worker", "sent", "keep")


class SentRunLog:
    """A table beside the gateway, for one process at a time."""

    def __init__(self, path: Path) -> None:
        self._table = sqlite3.connect(path)
        self._table.execute("PRAGMA journal_mode=WAL")
        self._table.execute("PRAGMA synchronous=FULL")
        self._table.execute(
            f"CREATE TABLE IF NOT EXISTS runs ({', '.join(_FIELDS)}, ended, PRIMARY KEY (name))"
        )
        self._table.execute("CREATE INDEX IF NOT EXISTS ends ON runs (ended)")

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the runs that have not ended."""
        found = self._table.execute(f"SELECT {', '.join(_FIELDS)} FROM runs WHERE ended IS NULL")
        for row in found.fetchall():
            yield dict(zip(_FIELDS, row, strict=True))

    def add(self, run: Any) -> None:
        """Record a run before it is sent; durable when this returns."""
        values = [getattr(run, field) for field in _FIELDS]
        places = ", ".join("?" * len(values))
        self._table.execute(f"INSERT OR REPLACE INTO runs VALUES ({places}, NULL)", values)
        self._table.commit()

    def end(self, name: str) -> None:
        """Remember a day that a run has ended; durable with the next `add`.

        If this is lost, its machine is asked once more.
        """
        now = time.time()
        self._table.execute("UPDATE runs SET ended = ? WHERE name = ?", (now, name))
        self._table.execute("DELETE FROM runs WHERE ended < ?", (now - REMEMBERED,))

    def remove(self, name: str) -> None:
        """Forget a run that never started: it may be submitted again."""
        self._table.execute("DELETE FROM runs WHERE name = ?", (name,))

    def has_ended(self, name: str, tenant: str) -> bool:
        """Return whether a tenant's run has ended."""
        found = self._table.execute(
            "SELECT 1 FROM runs WHERE name = ? AND tenant = ? AND ended IS NOT NULL", (name, tenant)
        )
        return found.fetchone() is not None

    def close(self) -> None:
        """Flush what is not durable yet."""
        self._table.commit()
        self._table.close()
