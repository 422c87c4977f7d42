"""The scripts of a skill; finding them reads names and first bytes, and executes nothing."""

import logging
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from skillkit.core.models import SkillMetadata
from skillkit.core.names import canonical_name, refusal
from skillkit.core.path_resolver import open_file_at, open_folder

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
    """The header declares `retry: safe`."""


def find_scripts(skill: SkillMetadata) -> tuple[Script, ...]:
    """The scripts of `skill` by name.

    Symbolic links, hidden and ignored files do not exist here; neither does anything that the
    manifest leaves out when it names its scripts. What it names may lie anywhere in the skill.
    """
    wanted = None if skill.scripts is None else {_bare(name) for name in skill.scripts}
    safe = {_bare(name) for name in skill.scripts or () if getattr(name, "retry_safe", False)}
    found: dict[str, Script] = {}
    known: set[str] = set()
    for relative in sorted(_all_files(skill), key=_rank):
        file = relative.removeprefix(f"{FOLDER}/")
        base = file.rpartition("/")[2]
        if any(fnmatchcase(name, pattern) for pattern in skill.scripts_ignore for name in {file, base}):
            continue
        stem = base.rpartition(".")[0] or base
        names = {*map(str.lower, (file, base, stem, _without_suffix(file)))}
        if wanted is not None and not names & wanted:
            continue
        known |= names
        name = stem if stem not in found else base if base not in found else file
        found[name] = Script(name, file, skill.base_dir / relative, relative, bool(names & safe))
    for missing in sorted((wanted or set()) - known):
        logger.warning(
            "Skill '%s' names the script '%s', which is not a plain file of the skill", skill.name, missing
        )
    return tuple(found[name] for name in sorted(found))


def find_script(skill: SkillMetadata, name: str) -> Script | None:
    """Return the script called `name`: exactly, with its suffix, in any case, or with other separators."""
    scripts = find_scripts(skill)
    for change in (str, str.lower, canonical_name):
        for script in scripts:
            names = (script.name, script.file, _without_suffix(script.file), script.relative_path)
            if change(name) in map(change, names):
                return script
    return None


def missing_scripts(skill: SkillMetadata) -> list[str]:
    """Return the scripts that the header names and that do not exist."""
    return [str(name) for name in skill.scripts or () if find_script(skill, name) is None]


def _all_files(skill: SkillMetadata) -> Iterator[str]:
    """Return the paths of files in `scripts/` and of those the header names elsewhere."""
    with open_folder(skill.base_dir) as top, ExitStack() as held:
        if top is None:
            return
        if (own := _open_beneath(top, FOLDER, held)) is not None:
            for number, relative in enumerate(_files(own, f"{FOLDER}/", 0)):
                if number >= MAX_SCRIPTS:
                    logger.warning("More than %d files in %s/%s", MAX_SCRIPTS, skill.base_dir, FOLDER)
                    break
                yield relative
        for name in skill.scripts or ():
            named = _bare(name, lower=False)
            inside = name.removeprefix("./") != named
            if not inside and not os.path.lexists(skill.base_dir / FOLDER / named):
                folder = named.rpartition("/")[0]
                if (above := _open_beneath(top, folder, held)) is not None:
                    prefix = f"{folder}/" if folder else ""
                    yield from (path for path in _files(above, prefix, MAX_DEPTH) if path == named)


def _open_beneath(top: int, path: str, held: ExitStack) -> int | None:
    """Open a folder beneath another one until `held` ends; no part of `path` may be a link."""
    folder: int | None = top
    for part in path.split("/") if path else ():
        if folder is not None:
            plain = refusal(part) is None
            folder = held.enter_context(open_folder(part, beneath=folder)) if plain else None
    return folder


def _files(folder: int, prefix: str, depth: int) -> Iterator[str]:
    """Yield the scripts in an open folder, then those in its folders."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries)
    except OSError:
        return
    folders = []
    for name in names:
        if refusal(name) is not None or name in _NOT_SCRIPTS:
            continue
        mode = 0
        with suppress(OSError):  # it vanished meanwhile: the others still exist
            mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISREG(mode) and _is_script(name, mode, folder):
            yield f"{prefix}{name}"
        elif depth < MAX_DEPTH and stat.S_ISDIR(mode):
            folders.append(name)
    for name in folders:
        with open_folder(name, beneath=folder) as below:
            if below is not None:
                yield from _files(below, f"{prefix}{name}/", depth + 1)


def _is_script(name: str, mode: int, folder: int) -> bool:
    if suffix := os.path.splitext(name)[1].lower():
        return suffix in SUFFIXES and name != "__init__.py"
    return bool(mode & 0o111) and _starts_with_shebang(name, folder)


def _starts_with_shebang(name: str, folder: int) -> bool:
    try:
        descriptor = open_file_at(name, folder)
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
