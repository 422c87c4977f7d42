"""Secrets that a run may use without seeing their values."""

import base64
import binascii
from dataclasses import dataclass, field

_BASIC = b"basic "


@dataclass(frozen=True, slots=True)
class Secret:
    """A value, the hosts it may go to, and the header it may go in."""

    name: str
    """Name of the variable that holds the placeholder."""
    hosts: tuple[str, ...]
    header: str
    value: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class BrokeredSecret:
    """A value and its placeholder."""

    name: str
    header: str
    value: bytes
    placeholder: bytes

    def put_into(self, header: bytes) -> bytes:
        """Return a header with the value in place of the placeholder, also inside of Basic credentials."""
        if header[: len(_BASIC)].lower() == _BASIC:
            try:
                plain = base64.b64decode(header[len(_BASIC) :].strip(), validate=True)
            except binascii.Error:
                return header
            if self.placeholder in plain:
                return header[: len(_BASIC)] + base64.b64encode(plain.replace(self.placeholder, self.value))
        return header.replace(self.placeholder, self.value)
