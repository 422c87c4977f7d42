"""Which program runs a script: its first line decides, then its suffix."""

import os
import re
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from skillkit.core.disk import user_home
from skillkit.core.programs import find_program
from skillkit.scripts.catalogue import INTERPRETERS
from skillkit.scripts.exceptions import DependencyError
from skillkit.scripts.sandbox.backend import SYSTEM_FOLDERS

PYTHON, NODE = "python", "node"
FIRST_BYTES = 256
"""Of a file, enough for its first line."""
_PYTHON = re.compile(r"(python|pypy)[0-9.]*|uv|uvx|pipx")
_PYTHON_OPTIONS = frozenset({"-u", "-O", "-OO"})
_SYSTEM_PROGRAMS = frozenset({"sh", "bash", "dash", "perl"})
_TYPESCRIPT = frozenset({"typescript", "tsx", "ts-node", "bun", "deno"})
NODE_SUFFIXES = tuple(suffix for suffix, kind in INTERPRETERS.items() if kind in {NODE, *_TYPESCRIPT})
_NODE_STRIPS_TYPES = (22, 6)
_HINTS = {
    "node": "install Node.js",
    "ruby": "install Ruby",
    "perl": "install Perl",
}


@dataclass(frozen=True, slots=True)
class Interpreter:
    """Command line before the script's path."""

    kind: str
    """`python`, whose program comes from the environment, or the name of the program."""
    command: tuple[str, ...]
    folders: tuple[Path, ...] = ()
    """Folders that must be readable besides the system's own."""


def find_interpreter(script: str, first_bytes: bytes, environ: Mapping[str, str] = os.environ) -> Interpreter:
    """Return the interpreter for a script that starts with `first_bytes`."""
    kind, options = asked_for(script, first_bytes)
    if not kind:
        raise DependencyError(
            f"The script {script} has neither a first line that names its interpreter "
            f"nor a known suffix ({', '.join(INTERPRETERS)})"
        )
    if kind == PYTHON:
        return Interpreter(PYTHON, tuple(opt for opt in options if opt in _PYTHON_OPTIONS))
    if kind in _TYPESCRIPT:
        return _typescript(script, environ)
    program = find_program(kind, environ, system_first=kind in _SYSTEM_PROGRAMS)
    if program is None:
        hint = _HINTS.get(kind, f"install {kind}")
        raise DependencyError(
            f"The script {script} needs the program '{kind}', which is not installed; {hint}"
        )
    return Interpreter(kind, (program, *options), folders_of(Path(program)))


def find_shell(shell: str) -> Interpreter:
    """Return the shell for a command in instructions: the command line before it."""
    name, options = ("pwsh", ("-NoProfile", "-Command")) if shell == "powershell" else ("bash", ("-c",))
    program = find_program(name, system_first=name == "bash")
    if program is None:
        raise DependencyError(f"The command needs '{name}', which is not installed")
    return Interpreter(name, (program, *options), folders_of(Path(program)))


def folders_of(program: Path) -> tuple[Path, ...]:
    """Return the installation that `program` belongs to, never a home folder or the whole disk."""
    needed: set[Path] = set()
    for path in {program, Path(os.path.realpath(program))}:
        if path.is_relative_to("/usr") or any(path.is_relative_to(top) for top in SYSTEM_FOLDERS):
            continue
        prefix = path.parent.parent
        shared = prefix in (Path("/"), Path("/opt"), user_home()) or prefix.name == ".local"
        if path.parent.name != "bin" or shared or user_home().is_relative_to(prefix):
            needed.add(path)
        else:
            needed.add(prefix)
    return tuple(sorted(needed))


def asked_for(script: str, content: bytes) -> tuple[str, list[str]]:
    """Return the interpreter that a file names by its first line or suffix, or nothing; and its options."""
    suffix = os.path.splitext(script)[1].lower()
    words = named_program(content)
    if not words:
        return INTERPRETERS.get(suffix, ""), []
    name = os.path.basename(words[0])
    if _PYTHON.fullmatch(name):
        return PYTHON, words[1:]
    kind = NODE if name == "nodejs" else name
    if kind == NODE and suffix == ".ts":  # older ones do not run it, others need an option
        return "typescript", []
    return kind, words[1:]


def language_of(script: str, content: bytes) -> str:
    """Return the language by whose rules a file finds its imports: `python`, `node` or its interpreter."""
    kind, _ = asked_for(script, content)
    return NODE if kind in _TYPESCRIPT else kind


def named_program(content: bytes) -> list[str]:
    """Return the program that a file's `#!` names, and its arguments."""
    first = content[:FIRST_BYTES].partition(b"\n")[0]
    if not first.startswith(b"#!") or first.startswith(b"#!["):  # an attribute of Rust
        return []
    try:
        words = shlex.split(first[2:].decode("utf-8").strip())
    except ValueError:
        return []
    if words and os.path.basename(words[0]) == "env":
        words = [word for word in words[1:] if word not in ("-S", "--split-string")]
        while words and ("=" in words[0] or words[0].startswith("-")):
            words = words[1:]
    return words


def _typescript(script: str, environ: Mapping[str, str]) -> Interpreter:
    for name, options in (("bun", ("run",)), ("deno", ("run", "-A", "--no-prompt")), ("tsx", ())):
        if (program := find_program(name, environ, system_first=False)) is not None:
            return Interpreter(name, (program, *options), folders_of(Path(program)))
    program = find_program("node", environ, system_first=False)
    if program is not None and (version := _node_version(program)) >= _NODE_STRIPS_TYPES:
        flags = ("--experimental-strip-types", "--no-warnings") if version < (23, 6) else ()
        return Interpreter("node", (program, *flags), folders_of(Path(program)))
    raise DependencyError(
        f"The script {script} is TypeScript, and no TypeScript runtime was found; "
        "install bun, deno, tsx or Node.js 22.6 or newer"
    )


@lru_cache(maxsize=8)
def _node_version(program: str) -> tuple[int, ...]:
    try:
        answer = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=20, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return (0,)
    return tuple(int(number) for number in re.findall(r"\d+", answer)[:2]) or (0,)
