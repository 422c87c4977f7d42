"""Files that are somewhere else too: installing refuses them, reading says so, new links are not followed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from skillkit import SkillManager
from skillkit.core.exceptions import ContentLoadError
from skillkit.install.exceptions import UnsafeTreeError
from skillkit.install.installer import SkillInstaller

IN_A_MOUNT = """
import logging, os, subprocess, sys
from pathlib import Path
from skillkit import SkillManager
from skillkit.evaluation.validation import validate_file
from skillkit.install.exceptions import UnsafeTreeError
from skillkit.install.installer import SkillInstaller

skill, elsewhere, home = map(Path, sys.argv[1:])
subprocess.run(["mount", "--bind", elsewhere, skill / "refs"], check=True)
subprocess.run(["mount", "--bind", elsewhere / "a b.md", skill / "one file.md"], check=True)
logging.basicConfig(level="WARNING")
manager = SkillManager(skill.parent, anthropic_config_dir="")
manager.discover()
print(manager.read_resource("pdf", "refs/a b.md").text)
print(sorted(found.path.name for found in validate_file(skill / "SKILL.md").warnings))
try:
    SkillInstaller(home, consent=lambda _: True).add(str(skill))
except UnsafeTreeError as error:
    print(error)
"""


@pytest.fixture
def manager(skills_dir: Path) -> SkillManager:
    return SkillManager(project_skill_dir=skills_dir, anthropic_config_dir="")


@pytest.fixture
def skill(write_skill) -> Path:
    folder: Path = write_skill("pdf", "Good.")
    (folder / "refs").mkdir()
    (folder / "one file.md").touch()
    return folder


def test_a_mount_below_a_skill_is_said_and_not_installed(skill: Path, tmp_path: Path) -> None:
    """By the list of mounts: a bind mount of the same disk has the same device."""
    enter = ["unshare", "-r", "-m"]
    if shutil.which("unshare") is None or subprocess.run([*enter, "true"], check=False).returncode:
        pytest.skip("this machine gives users no namespace of mounts")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "a b.md").write_text("from elsewhere")
    command = [*enter, sys.executable, "-c", IN_A_MOUNT, skill, elsewhere, tmp_path / "home"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    text, warned, refused = found.stdout.splitlines()
    assert text == "from elsewhere"
    assert "'refs/a b.md' in" in found.stderr
    assert "lies on another mount" in found.stderr
    assert warned == "[]", "what is mounted below a skill is not among its files"
    assert "lies on another mount" in refused


def test_a_hard_link_is_not_installed(skill: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("shared")
    os.link(tmp_path / "outside.md", skill / "refs" / "inside.md")
    with pytest.raises(UnsafeTreeError, match=r"'refs/inside\.md' .* is a hard link"):
        SkillInstaller(tmp_path / "home", consent=lambda _: True).add(str(skill))


def test_reading_a_skill_file_that_is_a_hard_link_says_so(
    manager: SkillManager, skill: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    os.link(skill / "SKILL.md", tmp_path / "outside.md")
    manager.discover()
    assert "Good." in manager.invoke_skill("pdf")
    assert "is a hard link" in caplog.text


@pytest.mark.parametrize("linked", ["group/pdf", "group"])
def test_a_folder_that_becomes_a_link_after_discovery_is_not_followed(
    manager: SkillManager, skills_dir: Path, tmp_path: Path, write_skill, linked: str
) -> None:
    for into, body in ((skills_dir, "Good."), (tmp_path / "other", "Evil.")):
        folder = write_skill("pdf", body, into=into / "group")
        (folder / "notes.md").write_text(body)
    manager.discover()
    assert "Good." in manager.invoke_skill("pdf")
    shutil.move(skills_dir / linked, tmp_path / "before")
    (skills_dir / linked).symlink_to(tmp_path / "other" / linked)
    for read in (
        lambda: manager.invoke_skill("pdf"),
        lambda: manager.load_skill("pdf"),
        lambda: manager.read_resource("pdf", "notes.md"),
        lambda: manager.list_resources("pdf"),
    ):
        with pytest.raises(ContentLoadError, match="has become a symbolic link"):
            read()
    manager.refresh()
    assert "Evil." in manager.invoke_skill("pdf")


def test_a_link_that_was_there_is_followed(manager: SkillManager, skills_dir: Path, tmp_path, write_skill):
    target = write_skill("pdf", "Good.", into=tmp_path / "real")
    (skills_dir / "pdf").symlink_to(target)
    manager.discover()
    assert "Good." in manager.invoke_skill("pdf")
