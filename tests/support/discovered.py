"""Managers of a folder of skills, and what they have found."""

from pathlib import Path

import pytest

from skillkit import SkillManager


@pytest.fixture
def manager(skills_dir: Path) -> SkillManager:
    return make_manager(skills_dir)


def make_manager(skills_dir: Path, **arguments) -> SkillManager:
    return SkillManager(project_skill_dir=skills_dir, anthropic_config_dir="", **arguments)


def names(manager: SkillManager) -> list[str]:
    return [skill.name for skill in manager.list_skills()]


def codes(manager: SkillManager) -> list[str]:
    return [found.code for found in manager.diagnostics]
