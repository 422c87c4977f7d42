"""A name server for one sandbox: granted names get an address of ours, all others do not exist."""

import struct
from collections.abc import Callable
from threading import Lock

from skillkit.core.hosts import HostRule

_HEADER = struct.Struct("!HHHHHH")
_A, _AAAA, _IN = 1, 28, 1
_ANSWER, _RECURSION, _NO_SUCH_NAME = 0x8400, 0x0180, 3
_MAX_NAMES = 1000
_SECONDS = 60


class NameTable:
    """Names that a script may reach, each with its own address inside the sandbox."""

    def __init__(self, rules: tuple[HostRule, ...], refuse: Callable[[str], None]) -> None:
        self._rules = rules
        self._refuse = refuse
        self._lock = Lock()
        self._addresses: dict[str, str] = {}
        self._names: dict[str, str] = {}
        for rule in rules:
            if rule.name.startswith("127."):
                self._names[rule.name] = rule.name
            elif rule.name == "localhost":
                self._names["127.0.0.1"] = rule.name

    def address_of(self, name: str) -> str | None:
        """Return the sandbox address of `name`; None if it is not granted."""
        if not any(rule.matches(name) for rule in self._rules):
            self._refuse(name)
            return None
        with self._lock:
            known = self._addresses.get(name)
            if known is None and len(self._addresses) < _MAX_NAMES:
                number = len(self._addresses) + 1
                known = f"127.77.{number >> 8}.{number & 0xFF}"
                self._addresses[name] = known
                self._names[known] = name
            return known

    def name_at(self, address: str) -> str | None:
        """Return the name of a sandbox address."""
        with self._lock:
            return self._names.get(address)

    def answer(self, question: bytes) -> bytes | None:
        """Answer one DNS message; None for an invalid one."""
        try:
            identity, flags, count, *_ = _HEADER.unpack_from(question)
            if count != 1 or flags & 0x8000:
                return None
            name, end = _read_name(question, _HEADER.size)
            kind, family = struct.unpack_from("!HH", question, end)
        except (struct.error, ValueError, IndexError):
            return None
        asked = question[_HEADER.size : end + 4]
        address = self.address_of(name) if family == _IN else None
        if address is None:
            header = _HEADER.pack(identity, _ANSWER | _RECURSION | _NO_SUCH_NAME, 1, 0, 0, 0)
            return header + asked
        if kind != _A:  # the name exists without an address of that type
            return _HEADER.pack(identity, _ANSWER | _RECURSION, 1, 0, 0, 0) + asked
        numbers = bytes(map(int, address.split(".")))
        record = struct.pack("!HHHIH", 0xC00C, _A, _IN, _SECONDS, 4) + numbers
        return _HEADER.pack(identity, _ANSWER | _RECURSION, 1, 1, 0, 0) + asked + record


def _read_name(message: bytes, position: int) -> tuple[str, int]:
    """The first name of a question in lower case, and where it ends; compressed names are refused."""
    labels = []
    total = 0
    while length := message[position]:
        if length > 63 or total > 255:
            raise ValueError("not a plain name")
        label = message[position + 1 : position + 1 + length]
        if len(label) != length:
            raise ValueError("cut")
        labels.append(label.decode("latin-1").lower())
        total += length + 1
        position += length + 1
    return ".".join(labels), position + 1
