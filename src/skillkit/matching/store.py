"""The index of a large library on disk, addressed by content, so that other processes reuse it."""

import contextlib
import hashlib
import logging
import os
import sqlite3
import weakref
from array import array
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

logger = logging.getLogger(__name__)
Postings = Mapping[str, "array[int]"]
MOST_FILES = 4
_VERSION = 1
"""Incremented when the postings of an unchanged skill would differ."""
_PATTERN = f"words-{_VERSION}-*.sqlite"


class IndexFile:
    """An immutable SQLite file: the members of a library, and one row per term."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = sqlite3.connect(
            f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False
        )
        weakref.finalize(self, self._connection.close)
        self.members: dict[bytes, list[int]] = {}
        """Maps a skill's digest to its numbers in the index."""
        for digest, key in self._connection.execute("SELECT digest, key FROM members"):
            self.members.setdefault(digest, []).append(key)

    def postings(self, kind: str, term: str) -> bytes:
        """Return the texts of one kind that contain a term, as passed to `write`."""
        try:
            row = self._connection.execute(f"SELECT packed FROM {kind} WHERE term = ?", (term,)).fetchone()
        except (sqlite3.Error, UnicodeError) as error:
            logger.warning("The index %s is damaged and no longer used: %s", self.path, error)
            with contextlib.suppress(OSError):
                self.path.unlink()
            return b""
        return b"" if row is None else bytes(row[0])

    @classmethod
    def find(cls, folder: Path, digests: Iterable[bytes]) -> "IndexFile | None":
        """Return the file that contains most of these skills, if they are at least half of its own."""
        wanted = frozenset(digests)
        best, most = None, 0
        for path in folder.glob(_PATTERN):
            try:
                found = cls(path)
            except sqlite3.Error as error:
                logger.info("The index %s is damaged and removed: %s", path, error)
                with contextlib.suppress(OSError):
                    path.unlink()
                continue
            shared = len(wanted & found.members.keys())
            if shared > max(most, len(found.members) // 2):
                best, most = found, shared
        if best is not None:
            with contextlib.suppress(OSError):
                os.utime(best.path)
        return best

    @classmethod
    def write(
        cls, folder: Path, members: Sequence[tuple[bytes, int]], kinds: Mapping[str, Postings]
    ) -> "IndexFile | None":
        """Store an index; return None if the file cannot be written."""
        name = hashlib.sha256(b"".join(digest for digest, _ in members)).hexdigest()[:16]
        path = folder / _PATTERN.replace("*", name)
        new = path.with_name(f"{path.name}.{os.getpid()}")
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if folder.stat().st_uid != os.geteuid():
                raise PermissionError(f"{folder} belongs to another user")
            with contextlib.closing(sqlite3.connect(new)) as connection:
                connection.execute("PRAGMA journal_mode=OFF")
                connection.execute("PRAGMA synchronous=OFF")
                connection.execute("CREATE TABLE members (digest BLOB, key INTEGER)")
                connection.executemany("INSERT INTO members VALUES (?, ?)", members)
                for kind, postings in kinds.items():
                    connection.execute(
                        f"CREATE TABLE {kind} (term TEXT PRIMARY KEY, packed BLOB) WITHOUT ROWID"
                    )
                    rows = ((term, postings[term].tobytes()) for term in sorted(postings))
                    connection.executemany(f"INSERT INTO {kind} VALUES (?, ?)", rows)
                connection.commit()
            os.replace(new, path)
            kept = sorted(folder.glob(_PATTERN), key=lambda file: file.stat().st_mtime)
            for old in kept[:-MOST_FILES]:
                old.unlink()
            return cls(path)
        except (sqlite3.Error, OSError, UnicodeError) as error:
            logger.debug("The index is not kept in %s: %s", folder, error)
            with contextlib.suppress(OSError):
                new.unlink()
            return None
