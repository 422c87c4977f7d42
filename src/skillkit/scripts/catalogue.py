"""Which scripts a skill has; finding them reads names and first bytes, and executes nothing."""

import logging
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from skillkit.core.models import SkillMetadata
from skillkit.core.names import refusal

logger = logging.getLogger(__name__)

FOLDER = "scripts"
SUFFIXES = (".py", ".sh", ".bash", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl")
"""In the order in which they win when two scripts share a name."""
MAX_SCRIPTS = 1000
_NO_FOLLOW = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_OPEN_FOLDER = _NO_FOLLOW | getattr(os, "O_DIRECTORY", 0)


@dataclass(frozen=True, slots=True)
class Script:
    """A file in a skill's `scripts/` that may be run."""

    name: str
    """`status` for `status.py`; the whole file name where another script has the shorter one."""
    file: str
    path: Path

    @property
    def relative_path(self) -> str:
        return f"{FOLDER}/{self.file}"


def find_scripts(skill: SkillMetadata) -> tuple[Script, ...]:
    """The scripts of `skill` by name.

    Symbolic links, folders, hidden and ignored files do not exist here; neither does anything that
    the manifest leaves out when it names its scripts.
    """
    wanted = None if skill.scripts is None else {_bare(name) for name in skill.scripts}
    found: dict[str, Script] = {}
    for file in sorted(_files(skill.base_dir), key=_rank):
        if any(fnmatchcase(file, pattern) for pattern in skill.scripts_ignore):
            continue
        stem = file.rpartition(".")[0] or file
        if wanted is not None and not {file.lower(), stem.lower()} & wanted:
            continue
        name = stem if stem not in found else file
        found[name] = Script(name, file, skill.base_dir / FOLDER / file)
    if wanted is not None:
        _report_missing(skill, wanted, found)
    return tuple(found[name] for name in sorted(found))


def find_script(skill: SkillMetadata, name: str) -> Script | None:
    """The script called `name`: as it is spelled, with its suffix, or in any case."""
    scripts = find_scripts(skill)
    for script in scripts:
        if name in (script.name, script.file):
            return script
    lowered = name.lower()
    for script in scripts:
        if lowered in (script.name.lower(), script.file.lower()):
            return script
    return None


def _files(base: Path) -> Iterator[str]:
    try:
        top = os.open(base, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    except OSError:
        return
    try:
        folder = os.open(FOLDER, _OPEN_FOLDER, dir_fd=top)
    except OSError:
        return
    finally:
        os.close(top)
    try:
        with os.scandir(folder) as entries:
            for number, entry in enumerate(entries):
                if number >= MAX_SCRIPTS:
                    logger.warning("More than %d files in %s/%s", MAX_SCRIPTS, base, FOLDER)
                    return
                if refusal(entry.name) is None and _is_script(entry.name, folder):
                    yield entry.name
    finally:
        os.close(folder)


def _is_script(name: str, folder: int) -> bool:
    found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if not stat.S_ISREG(found.st_mode):
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


def _rank(file: str) -> tuple[int, str]:
    suffix = os.path.splitext(file)[1].lower()
    return (SUFFIXES.index(suffix) if suffix in SUFFIXES else len(SUFFIXES), file)


def _bare(name: str) -> str:
    return name.lower().removeprefix("./").removeprefix(f"{FOLDER}/")


def _report_missing(skill: SkillMetadata, wanted: set[str], found: dict[str, Script]) -> None:
    known = {name.lower() for name in found} | {script.file.lower() for script in found.values()}
    for name in sorted(wanted - known):
        logger.warning(
            "Skill '%s' names the script '%s', which is not a plain file in its %s folder",
            skill.name,
            name,
            FOLDER,
        )
