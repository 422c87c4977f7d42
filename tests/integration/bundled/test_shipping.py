"""The bundled skills are in the wheel, and the installed program knows, validates, runs and copies them."""

import json
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from program import clean_environment

import skillkit

ROOT = Path(__file__).parents[3]
BUNDLED = Path(skillkit.__file__).parent / "bundled"
NAMES = ["hello-extended", "kalshi-markets", "skill-author"]
pytestmark = pytest.mark.xdist_group("wheel")  # one worker builds and installs it
Installed = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def fresh(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel in it; what the wheel depends on is lent by this one."""
    folder = tmp_path_factory.mktemp("fresh") / "venv"
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps", wheel]
    subprocess.run(install, check=True, capture_output=True)
    [packages] = (folder / "lib").glob("python*/site-packages")
    (packages / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder


@pytest.fixture
def agent(fresh: Path, tmp_path: Path) -> Installed:
    def run(*arguments: object, **environment: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [fresh / "bin" / "agent", *map(str, arguments)],
            cwd=tmp_path,
            env=clean_environment(tmp_path / "home", **environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_a_wheel_has_every_file_of_the_bundled_skills(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        shipped = {name for name in archive.namelist() if name.startswith("skillkit/bundled/")}
    written = {
        f"skillkit/{path.relative_to(BUNDLED.parent).as_posix()}"
        for path in BUNDLED.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert shipped == written


def test_the_installed_program_has_them_trusted_and_without_a_remark(agent: Installed, fresh: Path) -> None:
    listed = json.loads(agent("skill", "list", "--json", AGENT_SKILLS="all").stdout)
    assert [skill["name"] for skill in listed["skills"]] == NAMES
    assert listed["diagnostics"] == []
    for skill in listed["skills"]:
        assert (skill["trusted"], skill["active"], skill["source"]) == (True, True, "bundled")
        assert Path(skill["path"]).is_relative_to(fresh), "from the wheel and from nowhere else"


@pytest.mark.parametrize(
    "name", [NAMES[0], *(pytest.param(name, marks=pytest.mark.slow) for name in NAMES[1:])]
)
def test_the_installed_program_validates_and_copies_them(
    agent: Installed, tmp_path: Path, fresh: Path, name: str
) -> None:
    [bundled] = fresh.glob(f"lib/python*/site-packages/skillkit/bundled/{name}")
    valid = agent("skill", "validate", bundled)
    assert valid.returncode == 0, valid.stdout
    assert "1 checked: 0 errors" in valid.stdout
    made = agent("skill", "create", "my-own", "--from", name)
    assert made.returncode == 0, made.stderr
    copy = tmp_path / "skills" / "my-own"
    files = {path.relative_to(BUNDLED / name) for path in (BUNDLED / name).rglob("*") if path.is_file()}
    wanted = {path for path in files if "__pycache__" not in path.parts}
    assert {path.relative_to(copy) for path in copy.rglob("*") if path.is_file()} == wanted
    assert agent("skill", "validate", copy).returncode == 0
    shown = agent("skill", "info", name)
    assert "__pycache__" not in shown.stdout


def test_the_installed_program_runs_their_scripts(agent: Installed) -> None:
    ran = agent("skill", "run", "hello-extended", "advanced_greeting", "--name", "Ada", "--time", "08:00")
    assert (ran.returncode, ran.stdout) == (0, "Good morning, Ada\n"), ran.stderr
