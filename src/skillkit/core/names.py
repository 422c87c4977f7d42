"""Skill names: canonical form, well-formedness, and names that are refused."""

import re
from unicodedata import normalize

from skillkit.core.lookalikes import latin_lookalike, mixes_scripts
from skillkit.core.text import HIDDEN_OR_LAYOUT

MAX_NAME = 64
STRICT_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_JOINTS = re.compile(r"[_\s]+")
_SEPARATORS = re.compile(r"[/\\]")
DEVICE = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³]) *(\.|:|$)", re.IGNORECASE)
"""Names that are devices on Windows, with any ending."""
RESERVED = frozenset({"~", "__pycache__"})
MAX_LENIENT_NAME = 200
_MENDABLE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 _&,.()'+/-]|: )*[A-Za-z0-9)+]")
"""Characters of titles: no shell syntax, no lookalikes, no punctuation at the end."""
_TITLE_JOINTS = re.compile(r"[^A-Za-z0-9]+")


def canonical_name(name: str) -> str:
    """Return the canonical name: `Kalshi_Markets` and `kalshi-markets` are one skill."""
    if name.isascii():
        if name.islower() and "_" not in name and name.isprintable() and " " not in name:
            return name
        return _JOINTS.sub("-", name.strip()).lower()
    if (latin := latin_lookalike(name)) is not None:
        return canonical_name(latin)
    return _JOINTS.sub("-", normalize("NFC", name.strip().lower()))


def refusal(name: str) -> str | None:
    """Return why `name` can never address a skill; None if it can."""
    if STRICT_NAME.fullmatch(name) and len(name) <= MAX_NAME and not DEVICE.fullmatch(name):
        return None
    if _SEPARATORS.search(name):
        return "contains a path separator"
    if ".." in name:
        return "contains '..'"
    if HIDDEN_OR_LAYOUT.search(name):
        return "contains control or invisible characters"
    if name.startswith((".", "~")) or name.lower() in RESERVED or DEVICE.match(name):
        return "is reserved"
    if len(name) > MAX_LENIENT_NAME:
        return f"is longer than {MAX_LENIENT_NAME} characters"
    if not name.isascii() and mixes_scripts(name):
        return "mixes letters of several scripts in one word, which can look like another name"
    return None


def flat_name(name: str) -> str:
    """Return `name` with hyphens for slashes between its parts; unchanged if it could leave the folder."""
    if "/" not in name:
        return name
    parts = name.split("/")
    return "-".join(parts) if all(part and refusal(part) is None for part in parts) else name


def plain_name(name: str) -> str:
    """Return the canonical name of a title: `Sales & Growth (B2B)` becomes `sales-growth-b2b`.

    A name that is refused, or that no title would hold, comes back as it is.
    """
    whole = flat_name(name)
    if refusal(whole) is not None or not _MENDABLE.fullmatch(name):
        return name
    return _TITLE_JOINTS.sub("-", whole).strip("-").lower()


def deviation(name: str) -> str | None:
    """Return how `name` violates the Agent Skills specification; None if it does not."""
    if len(name) > MAX_NAME:
        return f"has {len(name)} characters; the limit is {MAX_NAME}"
    if not STRICT_NAME.fullmatch(name):
        return "must be lower-case letters, digits and single hyphens between them"
    return None
