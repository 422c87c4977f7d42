"""Looks up programs by name: the system's first, never one from a skill's folder."""

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from skillkit.core.disk import real_path

SYSTEM_PROGRAMS = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:/run/current-system/sw/bin"


def find_program(
    name: str, environ: Mapping[str, str] = os.environ, *, system_first: bool = True
) -> str | None:
    """Return the path of a program; None if there is none.

    The search path may hold a folder of a project or of a skill, whose programs would run outside
    every sandbox. So the system's own folders come first, unless the user's choice among several
    versions is wanted, and folders of the path that others could have filled are left out.
    """
    own = os.pathsep.join(safe_folders(environ))
    for folders in (SYSTEM_PROGRAMS, own) if system_first else (own,):
        if folders and (program := shutil.which(name, path=folders)) is not None:
            return program
    return None


def safe_folders(environ: Mapping[str, str] = os.environ) -> Iterator[str]:
    """Return the folders of the search path that belong to us or to root, and to no skill."""
    for folder in environ.get("PATH", os.defpath).split(os.pathsep):
        try:
            if os.path.isabs(folder) and _is_ours(os.stat(folder)) and not _is_in_skill(Path(folder)):
                yield folder
        except OSError:
            continue


def _is_ours(found: os.stat_result) -> bool:
    return found.st_uid in (0, os.geteuid()) and not found.st_mode & 0o002


def _is_in_skill(folder: Path) -> bool:
    real = real_path(folder)
    return any((parent / "SKILL.md").exists() for parent in (real, *real.parents))
