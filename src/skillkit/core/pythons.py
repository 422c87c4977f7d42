"""Choice of the Python for a script: the one under skillkit if its version fits, else another one."""

import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from operator import eq, ge, gt, le, lt, ne
from pathlib import Path

from skillkit.core.disk import unreachable, user_home
from skillkit.core.programs import find_program, safe_folders

_CLAUSE = re.compile(r"\s*(===|==|~=|!=|<=|>=|<|>)\s*([0-9]+(?:\.[0-9]+)*)(\.\*)?[a-z0-9.+-]*\s*")
_HEADER_CLAUSE = re.compile(r"(>=|<=|==|!=|~=|>|<)?([0-9]{1,4}(?:\.[0-9]{1,4}){0,2})(?:\.\*)?")
_COMPARE = {"===": eq, "==": eq, "~=": ge, "!=": ne, "<=": le, ">=": ge, "<": lt, ">": gt}
_KEEPERS = (
    ".pyenv/versions",
    ".local/share/uv/python",
    ".asdf/installs/python",
    ".local/share/mise/installs/python",
)
"""Where version managers keep interpreters, beneath the user's home."""
_TELL = (
    "import sys, sysconfig; "
    "print('%d.%d.%d' % sys.version_info[:3], sysconfig.get_platform(), sys.base_prefix)"
)


@dataclass(frozen=True, slots=True)
class Python:
    """An interpreter that belongs to no virtual environment."""

    program: Path
    full_version: str
    platform: str
    prefix: Path

    @property
    def version(self) -> str:
        return ".".join(self.full_version.split(".")[:2])

    @property
    def identity(self) -> str:
        return f"{self.program} {self.full_version} {self.platform}"


def find_python(requires: str, *, reachable: bool = False) -> Python | None:
    """Return the first interpreter whose version satisfies `requires`; `reachable` means by any user."""

    def fits(candidate: Python) -> bool:
        return satisfies(candidate.full_version, requires) and not (
            reachable and (unreachable(candidate.program) or unreachable(candidate.prefix))
        )

    return own_python() if fits(own_python()) else next(filter(fits, _others()), None)


@lru_cache(maxsize=1)
def own_python() -> Python:
    program = Path(os.path.realpath(getattr(sys, "_base_executable", sys.executable)))
    version = ".".join(map(str, sys.version_info[:3]))
    return Python(program, version, sysconfig.get_platform(), Path(sys.base_prefix))


@lru_cache(maxsize=1)
def _others() -> tuple[Python, ...]:
    """Yield interpreters on the search path, in system folders and of version managers, newest name first."""
    names = [f"python3.{minor}" for minor in range(20, 8, -1)] + ["python3"]
    found: dict[Path, Python] = {}
    for name in names:
        chosen = (find_program(name, system_first=system_first) for system_first in (False, True))
        for program in (*chosen, *_managed(name)):
            if program is not None and (python := _describe(program)) is not None:
                found.setdefault(python.program, python)
    return tuple(found.values())


def _managed(name: str) -> Iterator[str]:
    """Yield interpreters of pyenv, uv, asdf and mise, also inactive ones."""
    for keeper in _KEEPERS:
        folders = os.pathsep.join(map(str, sorted((user_home() / keeper).glob("*/bin"), reverse=True)))
        for folder in safe_folders({"PATH": folders}):
            if os.access(program := os.path.join(folder, name), os.X_OK):
                yield program


@lru_cache(maxsize=64)
def _describe(program: str) -> Python | None:
    try:
        answer = subprocess.run(
            [program, "-I", "-S", "-c", _TELL],
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
            cwd="/",
            # A shim is a script itself, and would start its own interpreter from the search path.
            env={**os.environ, "PATH": os.pathsep.join(safe_folders())},
        ).stdout
        version, platform, prefix = answer.strip().split(" ", 2)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    folder = Path(prefix) / "bin"
    own = folder / f"python{'.'.join(version.split('.')[:2])}"
    return Python(Path(os.path.realpath(own if own.exists() else program)), version, platform, Path(prefix))


def header_clauses(text: str) -> str:
    """Return `requires.python` of a header as a `requires-python` specifier.

    People write `3.11` for that or newer, and mean every release of it by `==3.11` and `<=3.11`. What
    cannot be understood is no reason to refuse.
    """
    clauses = []
    for part in text.replace(" ", "").split(","):
        found = _HEADER_CLAUSE.fullmatch(part)
        if found is None:
            continue
        operator, release = found[1] or ">=", [int(number) for number in found[2].split(".")]
        if operator == "<=" and len(release) < 3:
            operator, release = "<", [*release[:-1], release[-1] + 1]
        star = ".*" if operator in ("==", "!=") and len(release) < 3 else ""
        clauses.append(f"{operator}{'.'.join(map(str, release))}{star}")
    return ",".join(clauses)


def satisfies(version: str, requires: str) -> bool:
    """Whether a release satisfies a `requires-python`; an invalid clause is unsatisfied."""
    return all(_meets(version, clause) for clause in requires.split(",") if clause.strip())


def _meets(version: str, clause: str) -> bool:
    match = _CLAUSE.fullmatch(clause)
    if match is None:
        return False
    operator, text, wildcard = match.groups()
    compare = _COMPARE[operator]
    have, wanted = (tuple(map(int, release.split("."))) for release in (version, text))
    if wildcard and compare in (eq, ne):
        have = have[: len(wanted)]
    alike = operator != "~=" or have[: len(wanted) - 1] == wanted[:-1]
    return alike and bool(compare(_padded(have), _padded(wanted)))


def _padded(release: tuple[int, ...]) -> tuple[int, ...]:
    return (*release, 0, 0, 0, 0)[:4]
