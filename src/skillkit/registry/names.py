"""Names of owners and skills, and version numbers."""

import re
from typing import Self

from skillkit.core.lookalikes import latin_lookalike
from skillkit.core.names import STRICT_NAME, canonical_name
from skillkit.install import semver
from skillkit.install.paths import installable
from skillkit.registry.exceptions import RejectedError

_OWNER = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,37}[A-Za-z0-9])?")
_JOINTS = re.compile(r"[-_.]")
_ALIKE = str.maketrans({"0": "o", "1": "l", "i": "l"})
_SHORT = re.compile(r"(0|[1-9][0-9]{0,8})(?:\.(0|[1-9][0-9]{0,8}))?")
_SERVED = "api dl up s static login logout device review tokens events search healthz"
_DIALECTS = "adk apm claude git mcp"
RESERVED = frozenset(f"{_SERVED} {_DIALECTS}".split())
"""First segments of addresses that the server uses itself."""


def fold(name: str) -> str:
    """Return the form in which names that look alike are equal."""
    plain = (latin_lookalike(name) or name).lower()
    return _JOINTS.sub("", plain).translate(_ALIKE).replace("rn", "m").replace("vv", "w")


def check_owner(name: str) -> str:
    """Return a valid owner name. Raises RejectedError."""
    if not _OWNER.fullmatch(name) or name.lower() in RESERVED:
        raise RejectedError(
            f"'{name[:60]}' is not a valid owner name: use 1 to 39 letters, digits and inner . _ -"
        )
    return name


def check_skill(name: str) -> str:
    """Return the canonical name that a skill is published under. Raises RejectedError."""
    canonical = canonical_name(name)
    if not installable(canonical) or not STRICT_NAME.fullmatch(canonical):
        raise RejectedError(f"'{name[:80]}' cannot be published: use lower-case letters, digits and hyphens")
    return canonical


class Version(semver.Version):
    """A semantic version."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse three numbers and an optional prerelease. Raises RejectedError."""
        try:
            return super().parse(text)
        except ValueError as error:
            raise RejectedError(str(error)) from error


def header_version(text: str) -> str:
    """Return a header's version with three numbers; empty if it declares no valid one."""
    if match := _SHORT.fullmatch(text):
        return f"{match[1]}.{match[2] or 0}.0"
    try:
        Version.parse(text)
    except RejectedError:
        return ""
    return text


def next_patch(taken: list[str]) -> str:
    """Return the next patch after the highest number ever used."""
    if not taken:
        return "1.0.0"
    highest = max(map(Version.parse, taken))
    return f"{highest.major}.{highest.minor}.{highest.patch + highest.is_release}"
