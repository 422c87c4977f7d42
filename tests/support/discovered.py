"""Managers of a folder of skills, and what they have found."""

import os
import time
from pathlib import Path

import pytest

from skillkit import SkillManager
from skillkit.core.content import stamp_of


def settle(path: Path) -> None:
    """Make a file look as if it had been written a while ago; a stamp as new as that proves nothing."""
    written = path.stat().st_mtime - 10
    os.utime(path, (written, written))
    while not stamp_of(path.stat()).is_settled():  # the time of this change itself cannot be set
        time.sleep(0.002)


@pytest.fixture
def manager(skills_dir: Path) -> SkillManager:
    return make_manager(skills_dir)


def make_manager(skills_dir: Path, **arguments) -> SkillManager:
    return SkillManager(project_skill_dir=skills_dir, anthropic_config_dir="", **arguments)


def names(manager: SkillManager) -> list[str]:
    return [skill.name for skill in manager.list_skills()]


def codes(manager: SkillManager) -> list[str]:
    return [found.code for found in manager.diagnostics]
