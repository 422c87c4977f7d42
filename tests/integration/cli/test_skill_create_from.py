"""`agent skill create --from` copies a skill under a new name, and the copy is a valid skill."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from program import run_here

import skillkit
from skillkit import SkillManager

AGENT = Path(sys.executable).with_name("agent")
BUNDLED = Path(skillkit.__file__).parent / "bundled"


@pytest.fixture
def agent(tmp_path):
    def agent(*arguments: str) -> subprocess.CompletedProcess[str]:
        return run_here("skill", *arguments, cwd=tmp_path, environment=dict(os.environ))

    return agent


def tree(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.mark.parametrize("original", ["hello-extended", "kalshi-markets", "skill-author"])
def test_a_bundled_skill_is_a_template(agent, tmp_path, original):
    assert agent("create", "my-own", "--from", original).returncode == 0
    copy, source = tree(tmp_path / "skills" / "my-own"), tree(BUNDLED / original)
    renamed = source.pop("SKILL.md").replace(f"name: {original}\n".encode(), b"name: my-own\n")
    assert copy.pop("SKILL.md") == renamed
    assert copy == source
    assert agent("validate", "skills/my-own").returncode == 0


def test_the_copy_may_get_another_description(agent, tmp_path):
    answer = agent("create", "weather", "--from", "Kalshi_Markets", "--description", "Weather: now. Use it.")
    assert answer.returncode == 0, answer.stderr
    manager = SkillManager(project_skill_dir=tmp_path / "skills", anthropic_config_dir="")
    manager.discover()
    assert manager.diagnostics == ()
    skill = manager.get_skill("weather")
    assert skill.description == "Weather: now. Use it."
    assert skill.permissions


def test_any_folder_with_a_skill_can_be_copied_without_what_does_not_belong(agent, tmp_path):
    folder = tmp_path / "original"
    (folder / "scripts").mkdir(parents=True)
    (folder / "__pycache__").mkdir()
    (folder / "SKILL.md").write_text(
        "---\ndescription: >\n  Two\n  lines\nname: original\nlicense: MIT\n---\nname: stays\n---\n"
    )
    (folder / "scripts" / "run.sh").write_text("#!/bin/sh\n")
    (folder / "scripts" / "run.sh").chmod(0o755)
    (folder / "__pycache__" / "x.pyc").touch()
    (folder / ".secret").touch()
    (folder / "link").symlink_to("/etc/passwd")
    assert agent("create", "copy", "--from", "original", "--description", "One line").returncode == 0
    copy = tree(tmp_path / "skills" / "copy")
    assert sorted(copy) == ["SKILL.md", "scripts/run.sh"]
    assert copy["SKILL.md"].decode() == (
        "---\ndescription: One line\nname: copy\nlicense: MIT\n---\nname: stays\n---\n"
    )
    assert os.access(tmp_path / "skills" / "copy" / "scripts" / "run.sh", os.X_OK)


def test_a_header_without_a_name_gets_one_and_a_file_without_header_is_refused(agent, tmp_path):
    (tmp_path / "nameless").mkdir()
    (tmp_path / "nameless" / "SKILL.md").write_text("---\ndescription: d\n---\nBody\n")
    assert agent("create", "named", "--from", "nameless").returncode == 0
    text = (tmp_path / "skills" / "named" / "SKILL.md").read_text()
    assert text == "---\nname: named\ndescription: d\n---\nBody\n"
    (tmp_path / "nameless" / "SKILL.md").write_text("Just text\n")
    answer = agent("create", "other", "--from", "nameless")
    assert answer.returncode == 1
    assert "no header" in answer.stderr
    assert not (tmp_path / "skills" / "other").exists()


def test_what_does_not_exist_is_said_with_what_does(agent, tmp_path):
    answer = agent("create", "mine", "--from", "nonsense")
    assert answer.returncode == 1
    assert "kalshi-markets" in answer.stderr
    assert not (tmp_path / "skills").exists()


def test_nothing_is_overwritten_and_names_are_checked(agent, tmp_path):
    (tmp_path / "skills" / "mine").mkdir(parents=True)
    assert "exists already" in agent("create", "mine", "--from", "skill-author").stderr
    assert agent("create", "My_Own", "--from", "skill-author").returncode == 1
    assert list((tmp_path / "skills" / "mine").iterdir()) == []


def test_a_file_in_another_encoding_is_an_error_and_leaves_nothing(agent, tmp_path):
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "SKILL.md").write_bytes("---\nname: a\ndescription: d\n---\n".encode("utf-16"))
    answer = agent("create", "mine", "--from", "foreign")
    assert answer.returncode == 1
    assert answer.stderr.startswith("Error: The SKILL.md to copy cannot be read")
    assert not (tmp_path / "skills").exists()
