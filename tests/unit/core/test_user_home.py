"""A user without a home folder: nothing of the working folder counts as the user's own."""

import os
import pwd
from pathlib import Path

import pytest

from skillkit import SkillManager
from skillkit.core.disk import agent_home, real_path, user_home
from skillkit.install.enabled import EnabledSkills


@pytest.fixture
def nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder of a user whom the machine does not know, as containers run programs."""

    def unknown(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for name in ("HOME", "AGENT_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_folder_called_like_a_home_is_nobodys_home(nobody: Path, write_skill) -> None:
    """A project could bring a skill, and the consent to it, in a folder called `~`."""
    for place in (".agent", ".claude", ".agents"):
        write_skill(f"evil{place.replace('.', '-')}", into=nobody / "~" / place / "skills")
    assert not agent_home().is_relative_to(nobody)
    assert user_home().is_absolute()
    manager = SkillManager()
    manager.discover()
    assert manager.list_skills() == []
    assert EnabledSkills(bundled=False).report().skills == ()
    assert os.listdir(nobody / "~" / ".agent") == ["skills"]


def test_links_in_a_circle_are_a_path_like_any_other(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert real_path(tmp_path / "a").parent == real_path(tmp_path)
