"""A keyring for the library `keyring`, added as its documentation says: values in a file of the test."""

import json
import os
from pathlib import Path

from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError


class FileKeyring(KeyringBackend):
    """Keeps values in the file that TEST_KEYRING names; locked as long as that is a folder."""

    priority = 5  # type: ignore[assignment]  # as backends of the library itself write it

    def get_password(self, service: str, username: str) -> str | None:
        return self._read().get(f"{service} {username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        self._path.write_text(json.dumps({**self._read(), f"{service} {username}": password}))

    def delete_password(self, service: str, username: str) -> None:
        kept = self._read()
        if kept.pop(f"{service} {username}", None) is None:
            raise PasswordDeleteError("Password not found")
        self._path.write_text(json.dumps(kept))

    @property
    def _path(self) -> Path:
        path = Path(os.environ["TEST_KEYRING"])
        if path.is_dir():
            raise KeyringLocked("The collection is locked")
        return path

    def _read(self) -> dict[str, str]:
        return json.loads(self._path.read_text()) if self._path.exists() else {}


class PlainKeyring(FileKeyring):
    """One that the library does not recommend."""

    priority = 0.5  # type: ignore[assignment]
