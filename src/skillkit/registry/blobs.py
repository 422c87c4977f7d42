"""Bytes by their SHA-256, in a folder or in a bucket of an object store."""

import hashlib
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path

from skillkit.core.disk import make_folder, replace_file
from skillkit.core.exceptions import StateFileError
from skillkit.registry.exceptions import MissingError

_NAME = re.compile(r"[0-9a-f]{64}")


def open_blobs(place: str | Path) -> "Blobs":
    """Open a folder, or the object store at a URL such as s3://BUCKET/FOLDER. Raises ImportError."""
    return BlobBucket(str(place)) if "://" in str(place) else BlobFolder(Path(place))


class Blobs(ABC):
    """Immutable bytes, named by their SHA-256."""

    place: str

    def put(self, data: bytes) -> str:
        """Store bytes durably and return their SHA-256."""
        name = hashlib.sha256(data).hexdigest()
        self._put(name, data)
        return name

    def get(self, name: str) -> bytes:
        if not _NAME.fullmatch(name):
            raise MissingError
        try:
            return self._get(name)
        except FileNotFoundError:
            raise MissingError(f"The blob {name} is missing; see: agent registry verify") from None

    @abstractmethod
    def names(self) -> Iterator[str]:
        """Yield the name of every blob."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Delete a blob; `moving.remove_orphans` knows which ones no version references."""

    def remove_unfinished(self) -> int:
        """Delete what writers that were killed have left, and return how many."""
        return 0

    @abstractmethod
    def _put(self, name: str, data: bytes) -> None: ...

    @abstractmethod
    def _get(self, name: str) -> bytes: ...


class BlobFolder(Blobs):
    """Files beneath a folder."""

    def __init__(self, folder: Path) -> None:
        self.place = str(folder)
        self.folder = folder
        make_folder(folder)

    def names(self) -> Iterator[str]:
        for path in sorted(self.folder.glob("??/*")):
            if _NAME.fullmatch(path.name):
                yield path.name

    def remove(self, name: str) -> None:
        self._path(name).unlink(missing_ok=True)

    def remove_unfinished(self) -> int:
        # Writers have no lock; none takes an hour.
        found = [path for path in self.folder.glob("??/.*") if path.stat().st_mtime < time.time() - 3600]
        for path in found:
            path.unlink(missing_ok=True)
        return len(found)

    def _put(self, name: str, data: bytes) -> None:
        path = self._path(name)
        if not path.exists():
            make_folder(path.parent)
            replace_file(path, data)

    def _get(self, name: str) -> bytes:
        return self._path(name).read_bytes()

    def _path(self, name: str) -> Path:
        return self.folder / name[:2] / name


class BlobBucket(Blobs):
    """Objects of S3, Google Cloud Storage, Azure and others; keys come from the environment."""

    def __init__(self, url: str) -> None:
        from obstore.exceptions import BaseError
        from obstore.store import from_url

        self.place = url
        try:
            self._store = from_url(url)
        except (BaseError, ValueError) as error:
            raise StateFileError(f"'{url}' cannot be used as an object store: {error}") from error

    def names(self) -> Iterator[str]:
        for batch in self._store.list():
            for entry in batch:
                if _NAME.fullmatch(name := entry["path"].rpartition("/")[2]):
                    yield name

    def remove(self, name: str) -> None:
        self._store.delete(self._key(name))

    def _put(self, name: str, data: bytes) -> None:
        try:
            self._store.head(self._key(name))
        except FileNotFoundError:
            self._store.put(self._key(name), data)

    def _get(self, name: str) -> bytes:
        return bytes(self._store.get(self._key(name)).bytes())

    def _key(self, name: str) -> str:
        return f"{name[:2]}/{name}"
