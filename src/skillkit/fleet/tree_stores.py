"""Packed trees by digest: on the gateway, in a shared folder, or in a bucket."""

import os
import re
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from skillkit.core.digest_memo import MAX_BYTES
from skillkit.core.disk import make_folder, replace_file
from skillkit.core.exceptions import ConfigurationError
from skillkit.fleet.cluster import FleetError

_DIGEST = re.compile(r"(?:with-links:)?sha256:[0-9a-f]{64}")
_LARGEST = 2 * MAX_BYTES


class TreeSource(Protocol):
    """A store of packed trees. Nothing in it is trusted: a tree is judged by its digest where it is used."""

    def get(self, digest: str) -> bytes | None:
        """Return a packed tree, None when there is none."""
        ...

    def put(self, digest: str, packed: bytes) -> None:
        """Keep a packed tree, unless it is there."""
        ...


class FolderTrees:
    """A folder that all machines see, such as an NFS mount."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, digest: str) -> bytes | None:
        try:
            with open(self.folder / _file_name(digest), "rb") as file:
                return file.read(_LARGEST)
        except FileNotFoundError:
            return None

    def put(self, digest: str, packed: bytes) -> None:
        path = self.folder / _file_name(digest)
        if not path.exists():
            make_folder(self.folder)
            replace_file(path, packed)

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


class BucketTrees:
    """A bucket of an S3-compatible service, through the library obstore.

    Keys, region and endpoint come from the usual variables (AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL, …).
    """

    def __init__(self, address: str) -> None:
        try:
            from obstore.store import S3Store
        except ImportError as error:
            raise FleetError("Trees in a bucket need obstore: install skillkit with 'fleet-s3'") from error
        parts = urlsplit(address)
        endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
        self._store: Any = S3Store(
            parts.netloc,
            prefix=parts.path.strip("/") or None,
            client_options={"allow_http": endpoint.startswith("http://")},
        )

    def get(self, digest: str) -> bytes | None:
        from obstore.exceptions import BaseError

        try:
            return bytes(self._store.get(_file_name(digest)).bytes())
        except FileNotFoundError:
            return None
        except BaseError as error:
            raise FleetError(f"The bucket of trees cannot be read: {error}") from error

    def put(self, digest: str, packed: bytes) -> None:
        from obstore.exceptions import AlreadyExistsError, BaseError

        try:
            self._store.put(_file_name(digest), packed, mode="create")
        except AlreadyExistsError:
            pass
        except BaseError as error:
            raise FleetError(f"The bucket of trees cannot be written: {error}") from error


def open_tree_store(address: str) -> TreeSource:
    """Return the store at an absolute path, `file:///path` or `s3://bucket/prefix`."""
    if address.startswith("s3://"):
        return BucketTrees(address)
    path = Path(unquote(urlsplit(address).path) if address.startswith("file://") else address).expanduser()
    if not path.is_absolute():
        raise ConfigurationError(
            f"'{address}' is not a store of trees: expected an absolute path, file:///path or s3://bucket/prefix",
            "trees",
        )
    return FolderTrees(path)


def _file_name(digest: str) -> str:
    if _DIGEST.fullmatch(digest) is None:
        raise FleetError(f"'{digest}' is not the digest of a tree")
    return f"{digest.replace(':', '-')}.tar"
