"""Bytes by their SHA-256, in a folder."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from skillkit.core.disk import make_folder, replace_file
from skillkit.registry.exceptions import MissingError

_NAME = re.compile(r"[0-9a-f]{64}")


class BlobFolder:
    """Files that are written once and never changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        make_folder(folder)

    def put(self, data: bytes) -> str:
        """Keep bytes and return their SHA-256; they are on disk when this returns."""
        name = hashlib.sha256(data).hexdigest()
        path = self._path(name)
        if not path.exists():
            make_folder(path.parent)
            replace_file(path, data)
        return name

    def get(self, name: str) -> bytes:
        try:
            return self._path(name).read_bytes()
        except FileNotFoundError:
            raise MissingError(f"The blob {name} is missing; see: agent registry verify") from None

    def names(self) -> Iterator[str]:
        for path in sorted(self.folder.glob("??/*")):
            if _NAME.fullmatch(path.name):
                yield path.name

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise MissingError
        return self.folder / name[:2] / name
