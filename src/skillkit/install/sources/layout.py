"""Find the folders of a source that hold skills, for every kind of source.

Skills lie in many places (`skills/*`, `skills/<group>/*`, `plugins/*/skills/*`, `.claude/skills/*`, the
top). All of them are looked for, to a bounded depth; a skill's own folders belong to that skill.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from skillkit.core.text import escape_hidden

SKILL_FILE = "SKILL.md"
MAX_DEPTH = 8
MAX_FOLDERS = 16_384
_NEVER = frozenset({".git", "node_modules", "__pycache__", "__pypackages__"})


@dataclass(frozen=True, slots=True)
class Skipped:
    """A part of a source that is not installed, and why."""

    path: str
    reason: str
    refused: bool = False
    """Whether it was refused as harmful, not only unusable."""

    def __str__(self) -> str:
        return f"{escape_hidden(self.path) or 'the top'}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Listing:
    """The folders that hold a skill, the most direct first, and the skipped ones."""

    folders: tuple[str, ...]
    left_out: tuple[Skipped, ...] = ()


@dataclass(frozen=True, slots=True)
class Folder:
    """One folder of a source."""

    has_skill: bool
    odd_skill: str = ""
    """Why its SKILL.md cannot be one: it is a link, for instance."""
    folders: tuple[str, ...] = ()
    unnamed: int = 0
    """Folders whose names can be neither shown nor typed."""


def join(*parts: str) -> str:
    """Join a path in a source; the empty text is its top."""
    return "/".join(part for part in parts if part)


def other_spelling(names: Iterable[str]) -> str:
    """Return a note on a misspelled `skill.md`, which loads in place but cannot be installed."""
    found = sorted(name for name in names if name != SKILL_FILE and name.lower() == SKILL_FILE.lower())
    return f"spelled {found[0]}; ask the author to rename it" if found else ""


Look = Callable[[Iterable[str]], Mapping[str, Folder]]
"""Return the content of each of these folders."""


def find_skills(look: Look, start: str = "") -> Listing:
    """Search breadth first, one call of `look` a level."""
    found: list[str] = []
    left_out: list[Skipped] = []
    level, seen = [start], 0
    for depth in range(MAX_DEPTH + 2):
        if not level:
            break
        if depth > MAX_DEPTH:
            left_out.append(Skipped(level[0], f"deeper than {MAX_DEPTH} folders, as {len(level) - 1:,} more"))
            break
        seen += len(level)
        if seen > MAX_FOLDERS:
            left_out.append(Skipped(level[0], f"not searched: more than {MAX_FOLDERS:,} folders"))
            break
        below: list[str] = []
        for path, folder in look(level).items():
            if folder.has_skill:
                found.append(path)
            elif folder.odd_skill:
                left_out.append(Skipped(path, f"its {SKILL_FILE} is {folder.odd_skill}", refused=True))
            if folder.unnamed:
                left_out.append(Skipped(path, f"{folder.unnamed} folders whose names are not plain text"))
            if not folder.has_skill or path == start:
                below += [join(path, name) for name in folder.folders if name not in _NEVER]
        level = below
    return Listing(tuple(sorted(found, key=_directness)), tuple(left_out))


def _directness(path: str) -> tuple[bool, int, bool, str]:
    """Return a sort key: `skills/a` before `preview/a`, clients' folders last, as they often hold copies."""
    parts = path.split("/")
    return parts[0].startswith("."), len(parts) if path else 0, parts[0] != "skills", path
