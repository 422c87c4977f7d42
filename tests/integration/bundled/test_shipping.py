"""The bundled skills are in the wheel, and load from it."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import skillkit

ROOT = Path(__file__).parents[3]
BUNDLED = Path(skillkit.__file__).parent / "bundled"


def test_a_wheel_has_every_file_of_the_bundled_skills(tmp_path):
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", tmp_path]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        shipped = {name for name in archive.namelist() if name.startswith("skillkit/bundled/")}
        archive.extractall(tmp_path / "installed")
    written = {
        f"skillkit/{path.relative_to(BUNDLED.parent).as_posix()}"
        for path in BUNDLED.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert shipped == written

    code = (
        "from skillkit import SkillManager\n"
        "manager = SkillManager(project_skill_dir='', anthropic_config_dir='', bundled=True)\n"
        "manager.discover()\n"
        "assert not manager.diagnostics\n"
        "print(*[skill.base_dir for skill in manager.list_skills()], sep='\\n')\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "installed")}
    answer = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=tmp_path,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    folders = [Path(line) for line in answer.stdout.splitlines()]
    assert [folder.name for folder in folders] == ["hello-extended", "kalshi-markets", "skill-author"]
    assert all(folder.is_relative_to(tmp_path) for folder in folders)
