"""Skills on disk and a provider over them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from skillkit import SkillManager
from skillkit.disclosure import SkillContextProvider

Provide = Callable[..., SkillContextProvider]


@pytest.fixture
def manager(skills_dir: Path) -> SkillManager:
    """Over `skills_dir`; filled when it is first used."""
    return SkillManager(project_skill_dir=skills_dir)


@pytest.fixture
def provide(manager: SkillManager) -> Provide:
    """A provider with options: `provide(max_skills=1)`."""

    def make(**options: object) -> SkillContextProvider:
        return SkillContextProvider(manager, **options)

    return make
