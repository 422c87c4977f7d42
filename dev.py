#!/usr/bin/env python3
"""Every chore of the project, on a machine that has only Python 3.11+, pip and git.

    python3 dev.py agent ARGS…     run the agent program
    python3 dev.py test            run the fast tests: every promise once, a few minutes
    python3 dev.py test all        run all tests; other arguments go to pytest
    python3 dev.py coverage        check what test runs with SKILLKIT_COVERAGE=1 covered together
    python3 dev.py check           lint, format, types, import rules
    python3 dev.py fix             let ruff mend what it can
    python3 dev.py validate ARGS…  run every validation command of the requirements (--help says more)
    python3 dev.py fuzz SECONDS    throw broken headers at the parser
    python3 dev.py corpus FOLDER   take every SKILL.md of a folder through all that is done with one
    python3 dev.py upstream FOLDER run the core tests of a checkout of skillkit 0.4.0 against this package
    python3 dev.py scripts FOLDER  ask the scripts of real skills for their help, before and after packages
    python3 dev.py columns KIND …  run the conformance suite with lowest or newest versions, or heavy peers
    python3 dev.py bench NAME …    run benchmarks/NAME
    python3 dev.py docs            build the documentation site into site/
    python3 dev.py pictures        draw the pictures of the documentation from the program and the benchmarks
    python3 dev.py reference       write the list of commands and the numbers into the pages
    python3 dev.py messages        print every error, diagnostic, log line and question of the program
    python3 dev.py release         build, check and tag a release; with --dry-run all but the tag
    python3 dev.py pin             write the installed versions into constraints.txt
    python3 dev.py system          install the system packages that the tests use (Debian, as root)

Each installs what it needs, at its first use, into `.venv`: the versions pinned in constraints.txt.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib
import venv
from collections.abc import Callable, Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent
ENVIRONMENT = ROOT / ".venv"
BIN = ENVIRONMENT / ("Scripts" if os.name == "nt" else "bin")
MINIMUM = (3, 11)
INPUTS = ("pyproject.toml", "constraints.txt")
STAMP = ENVIRONMENT / "installed-from"
PIP_LOG = ENVIRONMENT / "pip.log"
AGENT = {
    "inspect": "agent,inspect",
    "registry": "agent,registry",
    "serve": "agent,mcp",
    "fleet": "agent,fleet",
}
"""What a command of the program needs, where that is more than the program itself."""
FAST = "not slow and not model"
MEASURED = ["--cov", "--cov-append", "--cov-report=", "--cov-fail-under=0"]
FLOORS = {"*/skillkit/*": 90, "*/skillkit/disclosure/provider.py": 95}
"""Percent of lines and branches that the fast and the remaining tests cover together."""
SYSTEM_PACKAGES = {
    "bwrap": "bubblewrap",
    "chromium": "chromium",
    "jq": "jq",
    "postgres": "postgresql",
    "ruby": "ruby",
    "strace": "strace",
}


def main(arguments: list[str]) -> int:
    if sys.version_info < MINIMUM:
        sys.exit(f"skillkit needs Python 3.11 or newer; this is {sys.version.split()[0]}.")
    chores = {
        "agent": agent,
        "test": test,
        "coverage": coverage,
        "check": check,
        "fix": fix,
        "validate": validate,
        "fuzz": fuzz,
        "corpus": recipe("corpus"),
        "upstream": recipe("upstream"),
        "scripts": recipe("real_scripts"),
        "columns": recipe("columns"),
        "bench": bench,
        "docs": recipe("site", "docs"),
        "pictures": recipe("pictures", "dev"),
        "reference": recipe("reference"),
        "messages": recipe("messages", "lint"),
        "release": recipe("release"),
        "pin": pin,
        "system": system,
    }
    if not arguments or arguments[0] not in chores:
        print(__doc__)
        return 0 if arguments in ([], ["--help"], ["-h"]) else 2
    return chores[arguments[0]](arguments[1:])


def agent(arguments: list[str]) -> int:
    prepare(AGENT.get(" ".join(arguments[:1]), "agent"))
    if sys.stderr and not shutil.which("agent"):
        say(f'`agent` is not on your PATH: export PATH={shlex.quote(str(BIN))}:"$PATH"')
    os.execv(BIN / "agent", ["agent", *arguments])


def test(arguments: list[str]) -> int:
    """The fast tests; `all` of them; the `rest`, which are not fast; or what arguments for pytest select."""
    kind = arguments[0] if arguments else "fast"
    prepare("dev" if kind in ("all", "rest") else "test")
    selections = {"fast": ["-m", FAST], "rest": ["-m", f"not ({FAST})"], "all": []}
    if kind not in selections:
        return run("python", "-m", "pytest", *arguments)
    # More workers than cores: tests of sandboxes and servers spend much of their time waiting.
    workers = 2 * max(2, os.cpu_count() or 2)
    measured = MEASURED if os.environ.get("SKILLKIT_COVERAGE") else []
    say("Reading the tests; the first results come after some seconds …")
    return run("python", "-m", "pytest", "-q", f"-n{workers}", *selections[kind], *measured, *arguments[1:])


def coverage(_: list[str]) -> int:
    prepare("test")
    reports = [
        run("coverage", "report", f"--include={files}", f"--fail-under={percent}")
        for files, percent in FLOORS.items()
    ]
    return max(reports)


def check(_: list[str]) -> int:
    prepare("check")
    return (
        run("ruff", "check", ".")
        or run("ruff", "format", "--check", ".")
        or run("mypy")
        or run("mypy", *map(str, sorted(ROOT.glob("src/skillkit/bundled/*/scripts/*.py"))))
        or run("lint-imports")
    )


def fix(_: list[str]) -> int:
    prepare("lint")
    run("ruff", "check", "--fix", ".")
    return run("ruff", "format", ".")


def validate(arguments: list[str]) -> int:
    prepare("dev")
    return run("python", str(ROOT / "tests" / "support" / "validation_recipe.py"), *arguments)


def fuzz(arguments: list[str]) -> int:
    prepare("test")
    return run("python", "-m", "benchmarks.fuzz", *arguments)


def bench(arguments: list[str]) -> int:
    if not arguments:
        found = {path.stem for path in (ROOT / "benchmarks").glob("[a-z]*")}
        names = sorted(found - {"fuzz", "measure", "results"})
        print("Which one? " + ", ".join(names))
        return 2
    prepare("bench")
    return run("python", "-m", f"benchmarks.{arguments[0]}", *arguments[1:])


def recipe(name: str, extras: str = "test") -> Callable[[list[str]], int]:
    """The chore that runs recipes/NAME."""

    def make(arguments: list[str]) -> int:
        prepare(extras)
        return run("python", "-m", f"recipes.{name}", *arguments)

    return make


def pin(_: list[str]) -> int:
    """Install the newest versions that pyproject.toml admits into a fresh environment and write them down."""
    (ROOT / "constraints.txt").write_text("")
    prepare("dev")
    freeze = [BIN / "python", "-m", "pip", "freeze", "--exclude-editable"]
    installed = subprocess.run(freeze, check=True, capture_output=True, text=True).stdout
    pins = [line for line in installed.splitlines() if "==" in line]
    (ROOT / "constraints.txt").write_text("\n".join(pins) + "\n")
    return 0


def system(_: list[str]) -> int:
    missing = [package for program, package in SYSTEM_PACKAGES.items() if not installed(program)]
    if not missing:
        return 0
    if not shutil.which("apt-get") or os.geteuid() != 0:
        print(f"Not installed: {', '.join(missing)}. Tests that need them will say so and be skipped.")
        return 0
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update", "-qq"], check=True, env=environment)
    command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing]
    return subprocess.run(command, check=True, env=environment).returncode


def installed(program: str) -> bool:
    """Whether a program is on PATH, or where Debian keeps those of PostgreSQL."""
    return bool(shutil.which(program) or list(Path("/usr/lib/postgresql").glob(f"*/bin/{program}")))


def prepare(extras: str) -> None:
    """Bring `.venv` up to what `extras` of pyproject.toml need; costs nothing when it has that already."""
    digest = hashlib.sha256(b"".join((ROOT / name).read_bytes() for name in INPUTS)).hexdigest()
    stamp = STAMP.read_text() if STAMP.is_file() else ""
    present = set()
    if sys.version not in stamp:
        create()
    elif digest in stamp:
        present = set(stamp.rpartition("extras: ")[2].split())
    wanted = expanded(extras.split(","))
    if not wanted <= present:
        wanted |= present
        install(",".join(sorted(wanted)), extras)
        STAMP.write_text(f"{digest}\n{sys.version}\nextras: {' '.join(sorted(wanted))}\n")


def expanded(extras: Iterable[str]) -> set[str]:
    """Return `extras` and all that they consist of."""
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    found: set[str] = set()
    left = list(extras)
    while left:
        extra = left.pop()
        found.add(extra)
        parts = [line[len("skillkit[") : -1] for line in known[extra] if line.startswith("skillkit[")]
        left += [name for part in parts for name in part.split(",") if name not in found]
    return found


def create() -> None:
    if importlib.util.find_spec("ensurepip") is None:
        sys.exit(
            f"{sys.executable} cannot create virtual environments: its module ensurepip is missing. "
            "On Debian or Ubuntu: apt install python3-venv"
        )
    say("Creating .venv …")
    try:
        venv.create(ENVIRONMENT, with_pip=True, clear=True)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"{ENVIRONMENT} cannot be created: {error}")


def install(extras: str, purpose: str) -> None:
    """Install with pip and show how far it is; on failure exit with the line of its output that says why."""
    started = time.monotonic()
    say(f"Installing what '{purpose}' needs into .venv …")
    command = [BIN / "python", "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    command += ["-c", ROOT / "constraints.txt", "-e", f"{ROOT}[{extras}]"]
    lines: list[str] = []
    collected = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:
        for line in pip.stdout or ():
            lines.append(line.strip())
            if line.startswith("Collecting "):
                collected += 1
                if collected % 10 == 0:
                    say(f"  {collected} packages collected")
            elif line.startswith("Installing collected packages:"):
                say(f"  installing {line.count(',') + 1} packages")
    if pip.returncode:
        PIP_LOG.write_text("\n".join(lines))
        sys.exit(
            f"pip could not install what '{purpose}' needs: {reason(lines)}\n"
            f"Check the network and pip's settings (pip config list), then run the same command again. "
            f"All of pip's output: {PIP_LOG.relative_to(ROOT)}"
        )
    say(f"  ready after {time.monotonic() - started:.0f} s")


def reason(lines: list[str]) -> str:
    """Return what pip's output says about its failure: no connection, a conflict, or its first error."""
    _, broken, retries = "\n".join(lines).rpartition("connection broken by ")
    if broken:
        return retries.partition("\n")[0]
    if "The conflict is caused by:" in lines:
        start = lines.index("The conflict is caused by:") + 1
        return "; ".join(lines[start : start + 2])
    return next((line for line in lines if line.lower().startswith("error: ")), "it does not say why")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def run(program: str, *arguments: str) -> int:
    command = [BIN / program, *arguments]
    # Each of the hundreds of processes that tests start would compile the package again.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    if os.isatty(1):
        return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    # `dev.py test | head`: pytest would report a reader that leaves early as its own failure.
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE) as child:
        assert child.stdout
        try:
            while output := os.read(child.stdout.fileno(), 65536):
                os.write(1, output)
        except BrokenPipeError:
            child.terminate()
            child.stdout.read()
            return 0
    return child.returncode


if __name__ == "__main__":
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `dev.py … | head` ends quietly
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
