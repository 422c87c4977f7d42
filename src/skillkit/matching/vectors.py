"""Vectors kept on disk by the digest of their text, so that a text is embedded once."""

import hashlib
import sqlite3
import time
from pathlib import Path
from typing import TYPE_CHECKING

from skillkit.matching.database import CacheDatabase
from skillkit.matching.embedding import DIMENSIONS, Embedder

if TYPE_CHECKING:
    from skillkit.matching.embedding import Vectors

MOST_VECTORS = 50_000
_DAY = 86_400
_CHUNK = 500
_SCHEMA = """
CREATE TABLE vectors (digest BLOB PRIMARY KEY, vector BLOB NOT NULL, used INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX vectors_used ON vectors (used);
"""


class VectorCache:
    """A file that many processes share; without a folder, vectors last as long as the process."""

    def __init__(self, folder: Path | None, *, most: int = MOST_VECTORS) -> None:
        self._database = CacheDatabase(folder / "vectors.sqlite", _SCHEMA, 1) if folder else None
        self._most = most

    def vectors(self, texts: list[str], embedder: Embedder) -> "Vectors":
        """One row a text, embedding only those that nobody has embedded before."""
        import numpy as np

        digests = [
            hashlib.sha256(f"{embedder.identity}\0{text}".encode(errors="replace")).digest() for text in texts
        ]
        known = self._read(digests)
        missing = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in known}
        if missing:
            made = embedder.embed(list(missing.values()))
            self._write(
                {digest: row.astype(np.float16).tobytes() for digest, row in zip(missing, made, strict=True)}
            )
            known.update(zip(missing, made, strict=True))
        if not texts:
            return np.zeros((0, 0), dtype=np.float32)
        return np.stack([known[digest] for digest in digests])

    def close(self) -> None:
        if self._database:
            self._database.close()

    def _read(self, digests: list[bytes]) -> "dict[bytes, Vectors]":
        import numpy as np

        if self._database is None or not digests:
            return {}
        today = int(time.time()) // _DAY

        def work(connection: sqlite3.Connection) -> list[tuple[bytes, bytes]]:
            rows: list[tuple[bytes, bytes]] = []
            for start in range(0, len(digests), _CHUNK):
                some = digests[start : start + _CHUNK]
                marks = ",".join("?" * len(some))
                rows += connection.execute(
                    f"SELECT digest, vector FROM vectors WHERE digest IN ({marks})", some
                )
                connection.execute(
                    f"UPDATE vectors SET used = ? WHERE used < ? AND digest IN ({marks})",
                    (today, today, *some),
                )
            return rows

        none: list[tuple[bytes, bytes]] = []
        known: dict[bytes, Vectors] = {}
        for digest, packed in self._database.write(work, none):
            if len(packed) == DIMENSIONS * 2:
                vector = np.frombuffer(packed, dtype=np.float16).astype(np.float32)
                if abs(float(np.linalg.norm(vector)) - 1) < 0.01:
                    known[digest] = vector
        return known

    def _write(self, packed: dict[bytes, bytes]) -> None:
        if self._database is None:
            return
        today = int(time.time()) // _DAY

        def work(connection: sqlite3.Connection) -> None:
            connection.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)",
                [(digest, vector, today) for digest, vector in packed.items()],
            )
            (count,) = connection.execute("SELECT count(*) FROM vectors").fetchone()
            if count > self._most:
                connection.execute(
                    "DELETE FROM vectors WHERE digest IN (SELECT digest FROM vectors ORDER BY used LIMIT ?)",
                    (count - self._most,),
                )

        self._database.write(work, None)
