"""The user's secrets: in the keyring of the system where there is one, else in a file of mode 0600."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from skillkit.core.disk import DamagedFileError, JsonFile, agent_home, locked
from skillkit.core.exceptions import SkillsUseError

_SERVICE = "skillkit"
_FORMAT = 1
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_IN_KEYRING = ""
"""Marker in the file for a value that a keyring keeps."""
_RECOMMENDED = 1
"""The priority that keyrings have which their library recommends; one below is a plain file."""
MAX_VALUE = 8192
MIN_VALUE = 4


class SecretError(SkillsUseError, code="secret"):
    """A secret cannot be kept."""


class SecretStore:
    """Values by name. The file lists the names; where there is a keyring it holds no values.

    The library of keyrings is asked when a value is wanted and not before: finding one takes its time, and
    whoever needs no secret is not to be stopped by a keyring that does not work.
    """

    def __init__(self, home: Path | None = None) -> None:
        self._home = home

    @property
    def place(self) -> str:
        """Description of where values are kept."""
        keyring = find_keyring()
        if keyring is None:
            return str(self._file.path)
        kind = type(keyring)
        return f"the keyring of this system ({kind.__module__}.{kind.__qualname__})"

    @property
    def in_keyring(self) -> bool:
        return find_keyring() is not None

    @property
    def is_encrypted(self) -> bool:
        """Whether the place is a keyring, and one that the keyring library recommends."""
        keyring = find_keyring()
        return keyring is not None and keyring.priority >= _RECOMMENDED

    @property
    def _file(self) -> JsonFile:
        return JsonFile((self._home or agent_home()) / "secrets.json", _FORMAT)

    def names(self) -> list[str]:
        """Return the names of all secrets."""
        return sorted(self._read())

    def value(self, name: str) -> str | None:
        """Return a value; None for a secret that is not set."""
        kept = self._read().get(name)
        if kept != _IN_KEYRING or (keyring := find_keyring()) is None:
            return kept or None
        with _keyring_errors(f"give {name}"):
            found: str | None = keyring.get_password(_SERVICE, name)
        return found

    def set(self, name: str, value: str) -> None:
        """Store a value; SecretError if it could not be put into a header or masked in a response."""
        if not _NAME.fullmatch(name):
            raise SecretError(f"'{name}' is not a name for a secret; use letters, digits and _")
        if not (MIN_VALUE <= len(value) <= MAX_VALUE and value.isascii() and value.isprintable()):
            raise SecretError(f"The value of {name} must be {MIN_VALUE} to {MAX_VALUE} plain characters")
        keyring = find_keyring()
        with self._changing() as kept:
            if keyring is not None:
                with _keyring_errors(f"keep {name}"):
                    keyring.set_password(_SERVICE, name, value)
            kept[name] = value if keyring is None else _IN_KEYRING

    def remove(self, name: str) -> bool:
        """Delete a secret; return whether there was one."""
        with self._changing() as kept:
            found = kept.pop(name, None)
            if found == _IN_KEYRING and (keyring := find_keyring()) is not None:
                with _keyring_errors(f"forget {name}"):
                    # Somebody may have removed it there already.
                    if keyring.get_password(_SERVICE, name) is not None:
                        keyring.delete_password(_SERVICE, name)
        return found is not None

    def _read(self) -> dict[str, str]:
        try:
            data = self._file.read() or {}
        except DamagedFileError as error:
            raise SecretError(f"{self._file.path} is {error}; remove it and set the secrets again") from error
        secrets = data.get("secrets", {})
        return {str(name): str(value) for name, value in secrets.items()} if isinstance(secrets, dict) else {}

    @contextmanager
    def _changing(self) -> Iterator[dict[str, str]]:
        with locked(self._file.path.with_name("secrets.lock")):
            kept = self._read()
            yield kept
            self._file.write({"secrets": kept})


def find_keyring() -> Any:
    """Return the system's keyring, if the library is installed and finds a real one."""
    try:
        keyring = import_module("keyring")
        kinds = [import_module(f"keyring.backends.{name}").Keyring for name in ("fail", "null")]
    except ImportError:
        return None
    with _keyring_errors("be opened"):
        found = keyring.get_keyring()
        return None if isinstance(found, tuple(kinds)) else found


@contextmanager
def _keyring_errors(deed: str) -> Iterator[None]:
    """Translate errors of a keyring, each of which raises its own."""
    try:
        yield
    except Exception as error:
        raise SecretError(
            f"The keyring of this system cannot {deed}: {str(error) or type(error).__name__}. "
            "Unlock it, or choose another one with PYTHON_KEYRING_BACKEND"
        ) from error
