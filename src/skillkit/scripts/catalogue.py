"""Which scripts a skill has; finding them reads names and first bytes, and executes nothing."""

import logging
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from skillkit.core.models import SkillMetadata
from skillkit.core.names import canonical_name, refusal

logger = logging.getLogger(__name__)

FOLDER = "scripts"
INTERPRETERS = {
    ".py": "python",
    ".sh": "sh",
    ".bash": "bash",
    ".js": "node",
    ".mjs": "node",
    ".cjs": "node",
    ".ts": "typescript",
    ".rb": "ruby",
    ".pl": "perl",
}
"""What runs a script, by its suffix; in the order in which they win when two scripts share a name."""
SUFFIXES = tuple(INTERPRETERS)
MAX_SCRIPTS = 1000
MAX_DEPTH = 4
_NOT_SCRIPTS = frozenset({"__pycache__", "node_modules", "site-packages"})
_NO_FOLLOW = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_OPEN_FOLDER = _NO_FOLLOW | getattr(os, "O_DIRECTORY", 0)


@dataclass(frozen=True, slots=True)
class Script:
    """A file of a skill that may be run: beneath `scripts/`, or where the header says."""

    name: str
    """`status` for `status.py`; the whole file name where another script has the shorter one."""
    file: str
    """The path beneath `scripts/`, or beneath the skill for one that lies elsewhere."""
    path: Path
    relative_path: str
    """Beneath the skill."""
    retry_safe: bool = False
    """The header says that a second run does no harm."""


def find_scripts(skill: SkillMetadata) -> tuple[Script, ...]:
    """The scripts of `skill` by name.

    Symbolic links, hidden and ignored files do not exist here; neither does anything that the
    manifest leaves out when it names its scripts. What it names may lie anywhere in the skill.
    """
    wanted = None if skill.scripts is None else {_bare(name) for name in skill.scripts}
    safe = {_bare(name) for name in skill.scripts or () if getattr(name, "retry_safe", False)}
    found: dict[str, Script] = {}
    for relative in sorted(_all_files(skill), key=_rank):
        file = relative.removeprefix(f"{FOLDER}/")
        base = file.rpartition("/")[2]
        if any(fnmatchcase(name, pattern) for pattern in skill.scripts_ignore for name in {file, base}):
            continue
        stem = base.rpartition(".")[0] or base
        names = {*map(str.lower, (file, base, stem, _without_suffix(file)))}
        if wanted is not None and not names & wanted:
            continue
        name = stem if stem not in found else base if base not in found else file
        found[name] = Script(name, file, skill.base_dir / relative, relative, bool(names & safe))
    if wanted is not None:
        _report_missing(skill, wanted, found)
    return tuple(found[name] for name in sorted(found))


def find_script(skill: SkillMetadata, name: str) -> Script | None:
    """The script called `name`: as it is spelled, with its suffix, in any case, or with other joints."""
    scripts = find_scripts(skill)
    for change in (str, str.lower, canonical_name):
        for script in scripts:
            names = (script.name, script.file, _without_suffix(script.file), script.relative_path)
            if change(name) in map(change, names):
                return script
    return None


def missing_scripts(skill: SkillMetadata) -> list[str]:
    """The scripts that the header names and that are not there."""
    return [str(name) for name in skill.scripts or () if find_script(skill, name) is None]


def _all_files(skill: SkillMetadata) -> Iterator[str]:
    """Paths beneath the skill of what is in `scripts/` and of what the header names elsewhere."""
    try:
        top = os.open(skill.base_dir, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    except OSError:
        return
    try:
        for number, relative in enumerate(_files(top, FOLDER, 0)):
            if number >= MAX_SCRIPTS:
                logger.warning("More than %d files in %s/%s", MAX_SCRIPTS, skill.base_dir, FOLDER)
                break
            yield relative
        for name in skill.scripts or ():
            named = _bare(name, lower=False)
            inside = name.removeprefix("./") != named
            if not inside and not os.path.lexists(skill.base_dir / FOLDER / named):
                folder = named.rpartition("/")[0]
                yield from (path for path in _files(top, folder, MAX_DEPTH) if path == named)
    finally:
        os.close(top)


def _files(top: int, path: str, depth: int) -> Iterator[str]:
    """The scripts in the folder at `path`, then those in its folders; no part of `path` may be a link."""
    folder = os.dup(top)
    try:
        for part in path.split("/") if path else ():
            if refusal(part) is not None:
                return
            below = os.open(part, _OPEN_FOLDER, dir_fd=folder)
            os.close(folder)
            folder = below
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries)
        folders = []
        for name in names:
            if refusal(name) is not None or name in _NOT_SCRIPTS:
                continue
            is_script = is_folder = False
            with suppress(OSError):  # it vanished while we looked: the others are still there
                is_script, is_folder = _is_script(name, folder), _is_folder(name, folder)
            if is_script:
                yield f"{path}/{name}".lstrip("/")
            elif depth < MAX_DEPTH and is_folder:
                folders.append(name)
    except OSError:
        return
    finally:
        os.close(folder)
    for name in folders:
        yield from _files(top, f"{path}/{name}", depth + 1)


def _is_folder(name: str, folder: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


def _is_script(name: str, folder: int) -> bool:
    found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if not stat.S_ISREG(found.st_mode) or name == "__init__.py":
        return False
    suffix = os.path.splitext(name)[1].lower()
    if suffix:
        return suffix in SUFFIXES
    return bool(found.st_mode & 0o111) and _starts_with_shebang(name, folder)


def _starts_with_shebang(name: str, folder: int) -> bool:
    try:
        descriptor = os.open(name, _NO_FOLLOW | getattr(os, "O_NONBLOCK", 0), dir_fd=folder)
    except OSError:
        return False
    try:
        return os.read(descriptor, 2) == b"#!"
    finally:
        os.close(descriptor)


def _rank(relative: str) -> tuple[int, int, str]:
    suffix = os.path.splitext(relative)[1].lower()
    kind = SUFFIXES.index(suffix) if suffix in SUFFIXES else len(SUFFIXES)
    return (relative.count("/"), kind, relative)


def _bare(name: str, *, lower: bool = True) -> str:
    bare = name.removeprefix("./").removeprefix(f"{FOLDER}/")
    return bare.lower() if lower else bare


def _without_suffix(file: str) -> str:
    return os.path.splitext(file)[0]


def _report_missing(skill: SkillMetadata, wanted: set[str], found: dict[str, Script]) -> None:
    known = {
        name.lower()
        for script in found.values()
        for name in (script.name, script.file, _without_suffix(script.file), script.path.name)
    }
    for name in sorted(wanted - known):
        logger.warning(
            "Skill '%s' names the script '%s', which is not a plain file of the skill", skill.name, name
        )
