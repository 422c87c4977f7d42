"""Build a release, try its wheel where nothing of skillkit is installed, and tag it.

    python3 dev.py release --dry-run      everything but the tag; the files are thrown away
    python3 dev.py release                the same, then wheel and sdist in dist/ and a local tag

The version, the newest section of CHANGELOG.md and the tag have to agree, and every Python that CI runs has
its classifier. The wheel is installed on the oldest and the newest Python at hand.
"""

import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MINIMUM = (3, 11)
_CLASSIFIER = "Programming Language :: Python :: "
_SECTION = re.compile(r"^## (\S+) \((.+)\)$", re.M)
_CI_VERSIONS = re.compile(r"python: \[(.+)\]")
TELL = "import ensurepip, sys; print(*sys.version_info[:3], sys.executable)"


class ReleaseError(Exception):
    """What has to be mended before there can be a release."""


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--dry-run"]):
        print(__doc__)
        return 2
    dry = bool(arguments)
    try:
        version = check_version(dry=dry)
        check_classifiers()
        with tempfile.TemporaryDirectory(prefix="skillkit-release-") as folder:
            files = build(Path(folder))
            check_metadata(Path(folder), files)
            for python in dict.fromkeys((pythons()[0], pythons()[-1])):
                try_wheel(Path(folder), python, files, version)
            if not dry:
                keep(files)
    except ReleaseError as error:
        print(f"✗ {error}", file=sys.stderr)
        return 1
    if dry:
        say(f"{version} can be released")
        return 0
    call("git", "tag", "-a", f"v{version}", "-m", f"skillkit {version}", cwd=ROOT)
    say(f"tagged v{version}; publish it with: git push origin v{version}")
    return 0


def check_version(root: Path = ROOT, *, dry: bool) -> str:
    """Return the version that package, CHANGELOG.md and tag agree on."""
    version: str = runpy.run_path(str(root / "src/skillkit/_version.py"))["__version__"]
    newest = _SECTION.search((root / "CHANGELOG.md").read_text())
    if newest is None or newest[1] != version:
        said = newest[1] if newest else "nothing"
        raise ReleaseError(f"_version.py says {version}, the newest section of CHANGELOG.md {said}")
    tag = commit_of(root, f"refs/tags/v{version}^{{commit}}")
    if tag not in ("", commit_of(root, "HEAD")):
        raise ReleaseError(f"the tag v{version} is at {tag[:8]}, another commit: raise the version")
    if dry:
        return version
    if newest[2] != date.today().isoformat():
        raise ReleaseError(f"CHANGELOG.md: write ## {version} ({date.today().isoformat()})")
    if tag:
        raise ReleaseError(f"v{version} is tagged already")
    if call("git", "status", "--porcelain", cwd=root):
        raise ReleaseError("there are uncommitted changes")
    return version


def check_classifiers(root: Path = ROOT) -> None:
    """Every Python that CI runs is in pyproject.toml, and no other."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    workflow = (root / ".github/workflows/ci.yml").read_text()
    run = {text.strip(' "') for found in _CI_VERSIONS.findall(workflow) for text in found.split(",")}
    told = {
        each.removeprefix(_CLASSIFIER)
        for each in project["classifiers"]
        if each.startswith(f"{_CLASSIFIER}3.")
    }
    if run != told:
        raise ReleaseError(f"CI runs Python {listed(run)}; the classifiers name {listed(told)}")
    if not project.get("urls"):
        say("project.urls is empty: a page of a package index would link to nothing")


def build(folder: Path) -> list[Path]:
    """Make wheel and sdist from what git tracks, and nothing else that lies about."""
    call(sys.executable, "-m", "hatchling", "build", "-d", str(folder / "dist"), cwd=ROOT)
    files = sorted((folder / "dist").iterdir())
    for file in files:
        say(f"built {file.name} ({file.stat().st_size:,} bytes)")
    return files


def check_metadata(folder: Path, files: Sequence[Path]) -> None:
    tools = environment(folder / "tools", sys.executable)
    call(tools, "-m", "pip", "install", "--quiet", "twine")
    call(tools, "-m", "twine", "check", "--strict", *map(str, files))
    say("twine check --strict found nothing")


def pythons() -> list[str]:
    """Return the interpreters at hand that can run skillkit, the oldest first."""
    found: dict[tuple[int, ...], str] = {}
    for python in _candidates():
        told = subprocess.run([python, "-c", TELL], capture_output=True, text=True, check=False)
        *numbers, path = told.stdout.split(maxsplit=3) or [""]
        number = tuple(map(int, numbers))
        if number >= MINIMUM:
            found.setdefault(number, path.strip())
    return [path for _, path in sorted(found.items())]


def _candidates() -> Iterator[str]:
    yield from ("/usr/bin/python3", sys.executable)
    roots = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    yield from (str(path) for path in sorted(roots.glob("*/bin/python")))
    yield from filter(None, (shutil.which(f"python3.{minor}") for minor in range(MINIMUM[1], 20)))


def try_wheel(folder: Path, python: str, files: Sequence[Path], version: str) -> None:
    """Install the wheel into an empty environment and use it where no source is in sight."""
    place = folder / f"with-{Path(python).parts[-3]}"
    clean = environment(place, python)
    (wheel,) = (file for file in files if file.suffix == ".whl")
    call(clean, "-m", "pip", "install", "--quiet", str(wheel))
    call(clean, "-c", "import skillkit; skillkit.SkillManager", cwd=place)
    call(clean, "-m", "pip", "install", "--quiet", f"{wheel}[agent]")
    program = str(Path(clean).with_name("agent"))
    if version not in (said := call(program, "--version", cwd=place)):
        raise ReleaseError(f"the wheel's program says it is {said.strip()}, not {version}")
    for arguments in (("demo",), ("--check",)):
        call(program, *arguments, cwd=place)
    say(f"{python}: the wheel imports alone; agent demo and agent --check work")


def environment(folder: Path, python: str) -> str:
    """Create an empty environment; return its interpreter."""
    call(python, "-m", "venv", str(folder))
    return str(folder / "bin" / "python")


def keep(files: Sequence[Path]) -> None:
    (ROOT / "dist").mkdir(exist_ok=True)
    for file in files:
        shutil.copy2(file, ROOT / "dist")


def call(*command: str, cwd: Path | None = None) -> str:
    """Run a program in a home of its own; return its output, raise with it where the program fails."""
    variables = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")
    }
    if cwd is not None and cwd != ROOT:
        variables |= {"HOME": str(cwd), "AGENT_HOME": str(cwd / ".agent")}
    done = subprocess.run(
        command, cwd=cwd, env=variables, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    if done.returncode:
        said = "\n".join((done.stdout + done.stderr).strip().splitlines()[-15:])
        raise ReleaseError(f"{Path(command[0]).name} {' '.join(command[1:])} failed:\n{said}")
    return done.stdout


def commit_of(root: Path, name: str) -> str:
    """Return the commit that `name` stands for; empty for none."""
    command = ["git", "rev-parse", "--verify", "--quiet", name]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False).stdout.strip()


def listed(versions: set[str]) -> str:
    return ", ".join(sorted(versions)) or "none"


def say(text: str) -> None:
    print(f"  {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
