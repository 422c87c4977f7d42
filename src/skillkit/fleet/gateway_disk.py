"""What a gateway keeps on disk: trees until machines have them, and which runs were sent."""

import contextlib
import json
import os
import re
from pathlib import Path
from typing import Any

from skillkit.core.digest_memo import MAX_BYTES
from skillkit.core.disk import make_folder, replace_file
from skillkit.core.foreign_json import parse_json
from skillkit.fleet.cluster import FleetError

_DIGEST = re.compile(r"(?:with-links:)?sha256:[0-9a-f]{64}")
_LARGEST = 2 * MAX_BYTES
_LOG_LINES = 10_000


class TreeFolder:
    """Packed trees of one tenant by digest; a tree is judged by its digest where it is used."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, digest: str) -> bytes | None:
        """Return a packed tree, None when there is none."""
        try:
            with open(self.folder / _file_name(digest), "rb") as file:
                return file.read(_LARGEST)
        except FileNotFoundError:
            return None

    def put(self, digest: str, packed: bytes) -> None:
        """Keep a packed tree, unless it is there."""
        path = self.folder / _file_name(digest)
        if not path.exists():
            make_folder(self.folder)
            replace_file(path, packed)

    def remove(self, digest: str) -> None:
        """Forget a tree that is not what its digest says."""
        (self.folder / _file_name(digest)).unlink(missing_ok=True)

    def has(self, digest: str) -> bool:
        return (self.folder / _file_name(digest)).exists()

    def trim(self, most: int) -> None:
        """Remove the trees that were stored first until at most `most` bytes are left."""
        found = sorted(
            ((path.stat().st_mtime, path.stat().st_size, path) for path in self.folder.glob("*.tar")),
            reverse=True,
        )
        total = 0
        for number, (_, size, path) in enumerate(found):
            total += size
            if number and total > most:
                path.unlink(missing_ok=True)


class SentLog:
    """Which runs were sent and not answered, on disk: a gateway that is started again starts none twice."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None
        self._open: dict[str, bytes] = {}
        self._lines = 0

    def read(self) -> list[dict[str, Any]]:
        """Return the runs that a gateway before this one has sent, and begin a new file with them."""
        open_runs: dict[str, dict[str, Any]] = {}
        with contextlib.suppress(FileNotFoundError), open(self.path, "rb") as file:
            for line in file:
                with contextlib.suppress(ValueError):  # the last line of a gateway that was killed
                    record = parse_json(line)
                    if "ended" in record:
                        open_runs.pop(record["ended"], None)
                    else:
                        open_runs[record["name"]] = record
        self._open = {name: _line(record) for name, record in open_runs.items()}
        self._rewrite()
        return list(open_runs.values())

    def sent(self, run: Any) -> None:
        """Record a run before it is sent; on disk when this returns."""
        fields = ("name", "tenant", "digest", "worker", "ticket", "keep", "follow")
        line = self._open[run.name] = _line({name: getattr(run, name) for name in fields})
        self._append(line)
        os.fdatasync(self._descriptor())

    def ended(self, run: Any) -> None:
        """Record that a run was answered, or never started."""
        if self._open.pop(run.name, None) is not None:
            self._append(_line({"ended": run.name}))

    def _append(self, line: bytes) -> None:
        os.write(self._descriptor(), line)
        self._lines += 1
        if self._lines > _LOG_LINES + 2 * len(self._open):
            self._rewrite()

    def _rewrite(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
        replace_file(self.path, b"".join(self._open.values()), 0o600)
        self._lines = len(self._open)

    def _descriptor(self) -> int:
        if self._file is None:
            self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        return self._file


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record).encode() + b"\n"


def _file_name(digest: str) -> str:
    if _DIGEST.fullmatch(digest) is None:
        raise FleetError(f"'{digest}' is not the digest of a tree")
    return f"{digest.replace(':', '-')}.tar"
