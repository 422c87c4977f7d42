"""A repository of a stranger, and an installer whose user says yes to everything."""

from pathlib import Path

import pytest
from skill_repositories import Repository

from skillkit.install.installer import SkillInstaller


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "hostile.git")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def installer(home: Path) -> SkillInstaller:
    return SkillInstaller(home, consent=lambda proposal: True)
