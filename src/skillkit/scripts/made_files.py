"""The output folder of a run, and the files of it that are kept."""

import hashlib
import mimetypes
import os
import stat
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from skillkit.core.disk import remove_tree
from skillkit.core.grants import Limits
from skillkit.core.text import escape_hidden
from skillkit.scripts.models import OutputFile
from skillkit.scripts.sandbox.backend import Backend, ProcessTree
from skillkit.scripts.sandbox.bubblewrap import OUTPUT_FOLDER
from skillkit.scripts.sandbox.supervised import new_work_folder

_MAX_DEPTH = 4
_MAX_NAME = 120
_MAX_ENTRIES = 20_000
_MAX_NAMED = 20
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CHUNK = 1 << 20


@contextmanager
def output_folder(backend: Backend) -> Iterator[Path]:
    """Where the script finds its output folder; a folder of this machine where there are no mounts."""
    if backend.mounts:
        yield OUTPUT_FOLDER
        return
    folder = Path(new_work_folder())
    try:
        yield folder
    finally:
        remove_tree(folder)


class _Collection:
    """Collects files of an output folder by descriptors, so that no link is followed."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.files: list[OutputFile] = []
        self.left_out: list[str] = []
        self.size = self.entries = 0

    def add_folder(self, folder: int, prefix: str = "", depth: int = 1) -> None:
        for name in sorted(os.listdir(folder)):
            self.entries += 1
            if self.entries > _MAX_ENTRIES:
                return
            path = f"{prefix}{name}"
            try:
                descriptor = os.open(name, _OPEN, dir_fd=folder)
            except OSError:
                self._leave_out(path, "not a regular file")
                continue
            try:
                self._add(descriptor, path, depth)
            finally:
                os.close(descriptor)

    def _add(self, descriptor: int, path: str, depth: int) -> None:
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            if depth >= _MAX_DEPTH:
                self._leave_out(path, f"deeper than {_MAX_DEPTH} folders")
            else:
                self.add_folder(descriptor, f"{path}/", depth + 1)
        elif not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
            self._leave_out(path, "not a regular file")
        elif (name := _kept_name(path)) is None:
            self._leave_out(path, f"a name of more than {_MAX_NAME} bytes, or with hidden characters")
        elif len(self.files) >= self.limits.made_files:
            self._leave_out(path, f"more than {self.limits.made_files} files")
        elif self.size + found.st_size > self.limits.made_size:
            self._leave_out(path, f"more than {self.limits.made_size} bytes together")
        else:
            self._keep(descriptor, name, found.st_size)

    def _keep(self, descriptor: int, name: str, size: int) -> None:
        content = bytearray()
        while len(content) < size and (chunk := os.read(descriptor, min(_CHUNK, size - len(content)))):
            content += chunk
        self.size += len(content)
        media_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        self.files.append(OutputFile(name, media_type, digest, bytes(content)))

    def _leave_out(self, path: str, reason: str) -> None:
        self.left_out.append(f"{escape_hidden(os.fsencode(path).decode('utf-8', 'replace'))[:200]}: {reason}")


def _kept_name(path: str) -> str | None:
    """Return the name to keep a file under; None for one that other systems or terminals cannot show."""
    try:
        name = unicodedata.normalize("NFC", os.fsencode(path).decode("utf-8"))
    except UnicodeDecodeError:
        return None
    parts = name.split("/")
    is_plain = name.isprintable() and escape_hidden(name) == name and "\\" not in name
    return name if is_plain and all(len(part.encode()) <= _MAX_NAME for part in parts) else None


def collect_files(folder: int, limits: Limits) -> tuple[tuple[OutputFile, ...], tuple[str, ...]]:
    """Return the regular files beneath an open folder, and a line for each entry that is left out."""
    collection = _Collection(limits)
    collection.add_folder(folder)
    left_out = collection.left_out
    if len(left_out) > _MAX_NAMED or collection.entries > _MAX_ENTRIES:
        left_out = [*left_out[:_MAX_NAMED], f"… and {max(len(left_out) - _MAX_NAMED, 1)} more"]
    return tuple(collection.files), tuple(left_out)


def open_output(running: ProcessTree, output: Path, backend: Backend) -> int | None:
    """Return the folder of a run that has started, as a descriptor that outlives it."""
    if backend.mounts:
        return getattr(running, "output", None)  # one of another package may have none
    return os.open(output, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
