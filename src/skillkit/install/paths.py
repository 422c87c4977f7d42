"""Check that file names are portable and safe on every file system."""

import re
import unicodedata
from collections.abc import Iterable

from skillkit.core.names import canonical_name, plain_name, refusal
from skillkit.core.path_resolver import unportable
from skillkit.core.text import HIDDEN_OR_LAYOUT, shown
from skillkit.install.exceptions import UnsafeTreeError

_INSTALLABLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
MAX_DEPTH = 16
MAX_PATH = 512
MAX_NAME = 255
_REFUSED_CHARACTERS = re.compile(r'[/\\:<>"|?*]')
_GIT = re.compile(r"\.git|git~[0-9]+", re.I)


def installable(name: str) -> bool:
    """Return whether `name` is a valid folder name on every file system."""
    return _INSTALLABLE.fullmatch(name) is not None and refusal(name) is None


def installed_name(declared: str) -> str:
    """Return the name to install under: the declared name, or a sanitized form of it."""
    if installable(declared):
        return declared
    plain = plain_name(declared)
    return plain if installable(plain) else declared


def installed_identity(name: str) -> str:
    """Return the canonical name of an installed skill, from any spelling of its name."""
    return canonical_name(installed_name(name))


def safe_name(raw: bytes, folder: str = "") -> str:
    """Return a path component of a tree. Raises UnsafeTreeError if it is unsafe."""
    try:
        name = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise _unsafe(folder, raw.decode("latin-1"), "is not UTF-8") from None
    if name in ("", ".", ".."):
        raise _unsafe(folder, name, "leaves the skill's folder")
    if len(raw) > MAX_NAME:
        raise _unsafe(folder, f"{name[:40]}…", f"has a name of more than {MAX_NAME} bytes")
    if HIDDEN_OR_LAYOUT.search(name):
        raise _unsafe(folder, name, "contains control or invisible characters")
    if _REFUSED_CHARACTERS.search(name):
        raise _unsafe(folder, name, "contains a character that is special on some systems")
    plain = collision_key(name)
    if _GIT.fullmatch(plain.rstrip(". ")):
        raise _unsafe(folder, name, "is equivalent to .git on some systems")
    if name != name.rstrip(". ") or name != name.lstrip(" "):
        raise _unsafe(folder, name, "begins or ends with a space or ends with a dot")
    if (reason := unportable(plain)) is not None:
        raise _unsafe(folder, name, reason)
    return name


def check_paths(paths: Iterable[str]) -> None:
    """Raise UnsafeTreeError if two paths collide on some file system, or one is too long or deep."""
    spelled: dict[str, str] = {}
    files: set[str] = set()
    folders: set[str] = set()
    for path in paths:
        parts = path.split("/")
        if len(parts) > MAX_DEPTH or len(path.encode()) > MAX_PATH:
            raise _unsafe("", path, "is nested too deep or too long")
        for depth in range(1, len(parts) + 1):
            part = "/".join(parts[:depth])
            key = collision_key(part)
            known = spelled.setdefault(key, part)
            is_file = depth == len(parts)
            if known != part or key in files or (is_file and key in folders):
                raise _unsafe("", path, f"is the same as '{shown(known)}' on a disk that ignores case")
            (files if is_file else folders).add(key)


def collision_key(path: str) -> str:
    """Return a key that is equal for paths that some file systems cannot tell apart."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", path).casefold())


def _unsafe(folder: str, name: str, reason: str) -> UnsafeTreeError:
    path = shown(f"{folder}{name}")
    return UnsafeTreeError(f"Refused: the path '{path}' {reason}. Ask the author to rename it.")
