"""The user's secrets: in the keyring of the system where there is one, else in a file of mode 0600."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from skillkit.core.disk import DamagedFileError, JsonFile, agent_home, locked, replace_file
from skillkit.core.exceptions import SkillsUseError

_SERVICE = "skillkit"
_FORMAT = 1
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
MAX_VALUE = 8192
MIN_VALUE = 4


class SecretError(SkillsUseError):
    """A secret cannot be kept."""


class SecretStore:
    """Values by name. The file lists the names; where there is a keyring it holds no values."""

    def __init__(self, home: Path | None = None) -> None:
        self._home = home
        self._keyring = _keyring()

    @property
    def place(self) -> str:
        """Where values are kept, in words."""
        return "the keyring of this system" if self._keyring is not None else str(self._file.path)

    @property
    def in_keyring(self) -> bool:
        return self._keyring is not None

    @property
    def _file(self) -> JsonFile:
        return JsonFile((self._home or agent_home()) / "secrets.json", _FORMAT)

    def names(self) -> list[str]:
        """Return the names of all secrets."""
        return sorted(self._read())

    def value(self, name: str) -> str | None:
        """Return a value; None for a secret that is not set."""
        kept = self._read().get(name)
        if kept is None or self._keyring is None:
            return kept
        found: str | None = self._keyring.get_password(_SERVICE, name)
        return found

    def set(self, name: str, value: str) -> None:
        """Keep a value; SecretError if it could not be put into a header or masked in an answer."""
        if not _NAME.fullmatch(name):
            raise SecretError(f"'{name}' is not a name for a secret; use letters, digits and _")
        if not (MIN_VALUE <= len(value) <= MAX_VALUE and value.isascii() and value.isprintable()):
            raise SecretError(f"The value of {name} must be {MIN_VALUE} to {MAX_VALUE} plain characters")
        with self._changing() as kept:
            if self._keyring is not None:
                self._keyring.set_password(_SERVICE, name, value)
            kept[name] = "" if self._keyring is not None else value

    def remove(self, name: str) -> bool:
        """Forget a secret; return whether there was one."""
        with self._changing() as kept:
            was_there = kept.pop(name, None) is not None
            if was_there and self._keyring is not None:
                self._keyring.delete_password(_SERVICE, name)
        return was_there

    def _read(self) -> dict[str, str]:
        try:
            data = self._file.read() or {}
        except DamagedFileError as error:
            raise SecretError(f"{self._file.path} is {error}; remove it and set the secrets again") from error
        secrets = data.get("secrets", {})
        return {str(name): str(value) for name, value in secrets.items()} if isinstance(secrets, dict) else {}

    @contextmanager
    def _changing(self) -> Iterator[dict[str, str]]:
        path = self._file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path.with_name("secrets.lock")):
            kept = self._read()
            yield kept
            data = json.dumps({"version": _FORMAT, "secrets": kept}, indent=2).encode()
            replace_file(path, data, 0o600)


def _keyring() -> Any:
    """The system's keyring, if the library is installed and finds a real one."""
    try:
        keyring = import_module("keyring")
        kinds = [import_module(f"keyring.backends.{name}").Keyring for name in ("fail", "null")]
    except ImportError:
        return None
    found = keyring.get_keyring()
    return None if isinstance(found, tuple(kinds)) else found
