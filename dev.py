#!/usr/bin/env python3
"""Every chore of the project, on a machine that has only Python 3.11+, pip and git.

    python3 dev.py agent ARGS…     run the agent program
    python3 dev.py test ARGS…      run the tests (arguments go to pytest; `fast` leaves out what takes long)
    python3 dev.py check           lint, format, types, import rules
    python3 dev.py fix             let ruff mend what it can
    python3 dev.py validate ARGS…  run every validation command of the requirements (--help says more)
    python3 dev.py fuzz SECONDS    throw broken headers at the parser
    python3 dev.py corpus FOLDER   take every SKILL.md of a folder through all that is done with one
    python3 dev.py scripts FOLDER  ask the scripts of real skills for their help, before and after packages
    python3 dev.py columns KIND …  run the conformance suite with lowest or newest versions, or heavy peers
    python3 dev.py bench NAME …    run benchmarks/NAME
    python3 dev.py docs            build the documentation site into site/
    python3 dev.py pictures        draw the pictures of the documentation from the program and the benchmarks
    python3 dev.py reference       write the list of commands and the numbers into the pages
    python3 dev.py pin             write the installed versions into constraints.txt
    python3 dev.py system          install the system packages that the tests use (Debian, as root)

The first use makes `.venv` and installs the pinned versions from constraints.txt into it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent
ENVIRONMENT = ROOT / ".venv"
BIN = ENVIRONMENT / ("Scripts" if os.name == "nt" else "bin")
MINIMUM = (3, 11)
INPUTS = ("pyproject.toml", "constraints.txt")
SYSTEM_PACKAGES = {
    "bwrap": "bubblewrap",
    "chromium": "chromium",
    "jq": "jq",
    "ruby": "ruby",
    "strace": "strace",
}


def main(arguments: list[str]) -> int:
    if sys.version_info < MINIMUM:
        sys.exit(f"skillkit needs Python 3.11 or newer; this is {sys.version.split()[0]}.")
    chores = {
        "agent": agent,
        "test": test,
        "check": check,
        "fix": fix,
        "validate": validate,
        "fuzz": fuzz,
        "corpus": recipe("corpus"),
        "scripts": recipe("real_scripts"),
        "columns": recipe("columns"),
        "bench": bench,
        "docs": recipe("site"),
        "pictures": recipe("pictures"),
        "reference": recipe("reference"),
        "pin": pin,
        "system": system,
    }
    if not arguments or arguments[0] not in chores:
        print(__doc__)
        return 0 if arguments in ([], ["--help"], ["-h"]) else 2
    return chores[arguments[0]](arguments[1:])


def agent(arguments: list[str]) -> int:
    prepare()
    os.execv(BIN / "agent", ["agent", *arguments])


def test(arguments: list[str]) -> int:
    """The whole suite in parallel with coverage; with arguments, just what they select."""
    prepare()
    if arguments[:1] == ["fast"]:
        return run("python", "-m", "pytest", "-q", "-n2", "-m", "not slow and not model", *arguments[1:])
    if arguments:
        return run("python", "-m", "pytest", *arguments)
    workers = max(2, os.cpu_count() or 2)
    return run("python", "-m", "pytest", "-q", f"-n{workers}", "--cov", "--cov-report=term:skip-covered")


def check(_: list[str]) -> int:
    prepare()
    return (
        run("ruff", "check", ".")
        or run("ruff", "format", "--check", ".")
        or run("mypy")
        or run("mypy", *map(str, sorted(ROOT.glob("src/skillkit/bundled/*/scripts/*.py"))))
        or run("lint-imports")
    )


def fix(_: list[str]) -> int:
    prepare()
    run("ruff", "check", "--fix", ".")
    return run("ruff", "format", ".")


def validate(arguments: list[str]) -> int:
    prepare()
    return run("python", str(ROOT / "tests" / "support" / "validation_recipe.py"), *arguments)


def fuzz(arguments: list[str]) -> int:
    prepare()
    return run("python", "-m", "benchmarks.fuzz", *arguments)


def bench(arguments: list[str]) -> int:
    if not arguments:
        found = {path.stem for path in (ROOT / "benchmarks").glob("[a-z]*")}
        names = sorted(found - {"fuzz", "measure", "results"})
        print("Which one? " + ", ".join(names))
        return 2
    prepare()
    return run("python", "-m", f"benchmarks.{arguments[0]}", *arguments[1:])


def recipe(name: str) -> Callable[[list[str]], int]:
    """What makes a part of the documentation out of the program."""

    def make(arguments: list[str]) -> int:
        prepare()
        return run("python", "-m", f"recipes.{name}", *arguments)

    return make


def pin(_: list[str]) -> int:
    """Install the newest versions that pyproject.toml admits into a fresh environment and write them down."""
    (ROOT / "constraints.txt").write_text("")
    prepare()
    freeze = [BIN / "python", "-m", "pip", "freeze", "--exclude-editable"]
    installed = subprocess.run(freeze, check=True, capture_output=True, text=True).stdout
    pins = [line for line in installed.splitlines() if "==" in line]
    (ROOT / "constraints.txt").write_text("\n".join(pins) + "\n")
    return 0


def system(_: list[str]) -> int:
    missing = [package for program, package in SYSTEM_PACKAGES.items() if not shutil.which(program)]
    if not missing:
        return 0
    if not shutil.which("apt-get") or os.geteuid() != 0:
        print(f"Not installed: {', '.join(missing)}. Tests that need them will say so and be skipped.")
        return 0
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update", "-qq"], check=True, env=environment)
    command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing]
    return subprocess.run(command, check=True, env=environment).returncode


def prepare() -> None:
    """Make or bring up to date the environment; costs nothing when its inputs have not changed."""
    digest = hashlib.sha256()
    for name in INPUTS:
        digest.update((ROOT / name).read_bytes())
    stamp = ENVIRONMENT / "installed-from"
    before = stamp.read_text().split("\n", 1) if stamp.is_file() else []
    wanted = [digest.hexdigest(), sys.version]
    if before == wanted:
        return
    print("Setting up .venv (once, about a minute) …", file=sys.stderr)
    if before[1:] != wanted[1:]:  # another Python; other versions of packages are pip's work
        venv.create(ENVIRONMENT, with_pip=True, clear=True)
    command = [BIN / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*command, "-c", ROOT / "constraints.txt", "-e", f"{ROOT}[dev]"], check=True)
    stamp.write_text("\n".join(wanted))


def run(program: str, *arguments: str) -> int:
    return subprocess.run([BIN / program, *arguments], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
