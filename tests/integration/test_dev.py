"""Setting up: every command installs what it needs and nothing else, and a failure is one sentence."""

import hashlib
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[2]
DEV = runpy.run_path(str(ROOT / "dev.py"))
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
PINS = [line.split("==") for line in (ROOT / "constraints.txt").read_text().split()]
HEAVY = {"mypy", "onnxruntime", "playwright", "ray", "zensical"}


def packages(extra: str) -> set[str]:
    lines = [line for part in DEV["expanded"]([extra]) for line in EXTRAS[part]]
    return {re.split(r"[\[<>=,; ]", line)[0] for line in lines}


@pytest.mark.parametrize("extra", ["agent", "test"])
def test_the_program_and_the_fast_tests_need_nothing_heavy(extra: str) -> None:
    assert {"openai", "agent-framework"} <= DEV["expanded"]([extra])
    assert packages(extra) & HEAVY == set()


def test_all_tests_have_everything() -> None:
    assert packages("dev") >= HEAVY


def test_every_pin_admits_the_oldest_supported_python() -> None:
    """As far as they are installed here; CI looks again where the checks and the docs builder are, too."""
    refused = []
    for name, pinned in PINS:
        try:
            found = distribution(name)
        except PackageNotFoundError:
            continue
        needs = found.metadata.get("Requires-Python") or ""
        if found.version == pinned and "3.11.0" not in SpecifierSet(needs):
            refused.append(f"{name} {pinned} needs Python {needs}")
    assert refused == []


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (
            [
                "WARNING: Retrying after connection broken by 'Connection refused': /simple/rich/",
                "ERROR: Could not find a version that satisfies the requirement rich (from versions: none)",
            ],
            "'Connection refused': /simple/rich/",
        ),
        (
            [
                "ERROR: Cannot install skillkit because these versions have conflicting dependencies.",
                "The conflict is caused by:",
                "skillkit 0.6.0 depends on rich>=999",
                "The user requested (constraint) rich==15.0.0",
                "ERROR: ResolutionImpossible: for help visit …",
            ],
            "skillkit 0.6.0 depends on rich>=999; The user requested (constraint) rich==15.0.0",
        ),
        (["Collecting rich", "ERROR: No space left on device"], "ERROR: No space left on device"),
        ([], "it does not say why"),
    ],
)
def test_the_useful_line_of_pip(lines: list[str], told: str) -> None:
    assert DEV["reason"](lines) == told


@pytest.mark.slow
def test_a_failed_installation_is_told_without_a_traceback(tmp_path: Path) -> None:
    for name in ("dev.py", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    offline = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    offline |= {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_RETRIES": "1"}
    done = subprocess.run(
        [sys.executable, tmp_path / "dev.py", "agent", "--version"],
        env=offline,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "Installing what 'agent' needs into .venv …" in done.stderr
    assert "pip could not install what 'agent' needs: " in done.stderr
    assert "Connection refused" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_reader_that_leaves_early_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, ROOT / "dev.py", "--help"],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    assert done.stderr == ""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone whose environment is complete, and has no program yet."""
    clone = tmp_path / "a clone"
    (clone / ".venv" / "bin").mkdir(parents=True)
    for name in ("dev.py", *DEV["INPUTS"]):
        shutil.copy(ROOT / name, clone)
    digest = hashlib.sha256(b"".join((clone / name).read_bytes() for name in DEV["INPUTS"])).hexdigest()
    present = " ".join(DEV["expanded"](["test"]))
    (clone / ".venv" / "installed-from").write_text(f"{digest}\n{sys.version}\nextras: {present}\n")
    return clone


def install(clone: Path, program: str, text: str) -> None:
    path = clone / ".venv" / "bin" / program
    path.write_text(text)
    path.chmod(0o755)


def shell(line: str, clone: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    bare = {"PATH": "/usr/bin:/bin", "PYTHON": sys.executable, **environment}
    return subprocess.run(
        ["/bin/bash", "-c", line], cwd=clone, env=bare, capture_output=True, text=True, check=False
    )


def test_a_reader_that_leaves_the_tests_early_is_no_error(clone: Path) -> None:
    install(clone, "python", f"#!{sys.executable}\nwhile True:\n    print('.' * 70)\n")
    done = shell('"$PYTHON" dev.py test | head -n 1; echo "${PIPESTATUS[*]}"', clone)
    assert done.stdout == "." * 70 + "\n0 0\n"
    assert done.stderr == "Reading the tests; the first results come after some seconds …\n"


def test_tests_may_keep_the_code_they_compile(clone: Path) -> None:
    install(clone, "python", "#!/bin/sh\nenv\nexit 3\n")
    done = shell('"$PYTHON" dev.py test', clone, PYTHONDONTWRITEBYTECODE="1")
    assert "PYTHON=" in done.stdout
    assert "PYTHONDONTWRITEBYTECODE" not in done.stdout
    assert done.returncode == 3


def test_commands_that_the_program_prints_run_after_one_line(clone: Path) -> None:
    install(clone, "agent", "#!/bin/sh\necho 'Next: agent demo'\n")
    first = shell('"$PYTHON" dev.py agent demo', clone)
    assert first.stdout == "Next: agent demo\n"
    [hint] = re.findall("^`agent` is not on your PATH: (export .*)\n$", first.stderr)
    assert shell(f"{hint}\nagent demo", clone).returncode == 0
    assert shell(f'{hint}\n"$PYTHON" dev.py agent demo', clone).stderr == ""
    assert shell('"$PYTHON" dev.py agent demo 2>&-', clone).stdout == first.stdout
