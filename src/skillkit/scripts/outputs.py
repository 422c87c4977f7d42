"""Files that scripts made, by conversation: for the user by path, for a model and a client by address."""

import hashlib
import os
import re
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from skillkit.core.authority import Requester
from skillkit.core.disk import agent_home, remove_tree, writable_folder
from skillkit.core.exceptions import ContentLoadError
from skillkit.core.resources import DEFAULT_PAGE, ResourcePage, read_resource
from skillkit.scripts.models import OutputFile

SCHEME = "skill-output://"
KEPT_RUNS = 500
KEPT_BYTES = 1 << 30
_READABLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_RUN = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class StoredOutput:
    """A file that a script made, and where it is."""

    file: OutputFile
    path: Path
    uri: str

    def to_data(self) -> dict[str, object]:
        """Return everything but the content as JSON."""
        return {
            "name": self.file.name,
            "bytes": len(self.file.content),
            "media_type": self.file.media_type,
            "digest": self.file.digest,
            "path": str(self.path),
            "uri": self.uri,
        }


class OutputStore:
    """Files beneath one folder: `<conversation>/<run>/<name>`, readable by their owner alone."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    @property
    def folder(self) -> Path:
        return self._folder or writable_folder(agent_home()) / "outputs"

    def keep(self, files: Sequence[OutputFile], requester: Requester) -> list[StoredOutput]:
        """Write the files of a run, never over existing ones."""
        self._collect()
        run = secrets.token_hex(8)
        base = self._of(requester) / run
        base.mkdir(parents=True, mode=0o700)
        kept = []
        for file in files:
            path = base / file.name
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with open(descriptor, "wb") as target:
                target.write(file.content)
            kept.append(StoredOutput(file, path, f"{SCHEME}{run}/{quote(file.name)}"))
        return kept

    def has_any(self, requester: Requester) -> bool:
        """Whether scripts of this conversation have made files."""
        return self._of(requester).is_dir()

    def page(
        self, uri: str, requester: Requester, offset: int = 0, limit: int = DEFAULT_PAGE
    ) -> ResourcePage:
        """A part of a file that a script of this conversation made; ContentLoadError if there is none."""
        base, name = self._find(uri, requester)
        return read_resource(base, name, offset, limit)

    def path(self, uri: str, requester: Requester) -> Path:
        """Where a file that a script of this conversation made is; ContentLoadError if there is none."""
        base, name = self._find(uri, requester)
        read_resource(base, name, 0, 1)
        return base / name

    def forget(self, requester: Requester) -> None:
        """Remove all files that scripts of a conversation made."""
        remove_tree(self._of(requester))

    def _find(self, uri: str, requester: Requester) -> tuple[Path, str]:
        run, _, name = uri.removeprefix(SCHEME).partition("/")
        base = self._of(requester) / run
        if not uri.startswith(SCHEME) or not _RUN.fullmatch(run) or not name or not base.is_dir():
            raise ContentLoadError("No script of this conversation has made that file")
        return base, unquote(name)

    def _of(self, requester: Requester) -> Path:
        name = requester.conversation or "none"
        if requester.tenant or not _READABLE.fullmatch(name):
            whole = "\0".join((requester.program, requester.tenant, name))
            name = f"-{hashlib.sha256(whole.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"
        return self.folder / name

    def _collect(self) -> None:
        """Remove the oldest runs until there is space for one more."""
        runs = []
        for run in self.folder.glob("*/*"):
            with suppress(OSError):
                size = sum(path.lstat().st_size for path in run.rglob("*"))
                runs.append((run.stat().st_mtime, size, run))
        runs.sort()
        total = sum(size for _, size, _ in runs)
        while runs and (len(runs) >= KEPT_RUNS or total > KEPT_BYTES):
            _, size, run = runs.pop(0)
            total -= size
            remove_tree(run)
            with suppress(OSError):
                run.parent.rmdir()
