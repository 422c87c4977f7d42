"""Names of owners and skills, and version numbers."""

import re
from typing import NamedTuple

from skillkit.core.lookalikes import latin_lookalike
from skillkit.core.names import STRICT_NAME, canonical_name
from skillkit.install.paths import installable
from skillkit.registry.exceptions import RejectedError

_OWNER = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,37}[A-Za-z0-9])?")
_JOINTS = re.compile(r"[-_.]")
_ALIKE = str.maketrans({"0": "o", "1": "l", "i": "l"})
_VERSION = re.compile(
    r"(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
)
_SHORT = re.compile(r"(0|[1-9][0-9]{0,8})(?:\.(0|[1-9][0-9]{0,8}))?")
RESERVED = frozenset("api dl up s static login logout device review tokens events search healthz".split())
"""First segments of addresses that the server uses itself."""


def fold(name: str) -> str:
    """Two owners whose folded names are equal could be taken for one another."""
    plain = (latin_lookalike(name) or name).lower()
    return _JOINTS.sub("", plain).translate(_ALIKE).replace("rn", "m").replace("vv", "w")


def check_owner(name: str) -> str:
    """Return an owner's name that can be used. Raises RejectedError."""
    if not _OWNER.fullmatch(name) or name.lower() in RESERVED:
        raise RejectedError(
            f"'{name[:60]}' cannot be an owner: use 1 to 39 letters, digits and . _ - between them"
        )
    return name


def check_skill(name: str) -> str:
    """Return the canonical name that a skill is published under. Raises RejectedError."""
    canonical = canonical_name(name)
    if not installable(canonical) or not STRICT_NAME.fullmatch(canonical):
        raise RejectedError(f"'{name[:80]}' cannot be published: use lower-case letters, digits and hyphens")
    return canonical


class Version(NamedTuple):
    """A semantic version, in the order of precedence."""

    major: int
    minor: int
    patch: int
    is_release: bool = True
    prerelease: tuple[tuple[int, int, str], ...] = ()

    @classmethod
    def parse(cls, text: str) -> "Version":
        """Read three numbers and perhaps a prerelease. Raises RejectedError."""
        match = _VERSION.fullmatch(text)
        if match is None:
            raise RejectedError(f"'{text[:60]}' is not a version; write three numbers such as 1.0.0")
        numbers = (int(match[1]), int(match[2]), int(match[3]))
        if match[4] is None:
            return cls(*numbers)
        parts = match[4].split(".")
        return cls(
            *numbers, False, tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts)
        )


def header_version(text: str) -> str:
    """The version that a header declares, with three numbers; empty where it declares none that fits."""
    if match := _SHORT.fullmatch(text):
        return f"{match[1]}.{match[2] or 0}.0"
    return text if _VERSION.fullmatch(text) else ""


def next_patch(taken: list[str]) -> str:
    """The number after the highest that was ever used."""
    if not taken:
        return "1.0.0"
    highest = max(map(Version.parse, taken))
    return f"{highest.major}.{highest.minor}.{highest.patch + highest.is_release}"
