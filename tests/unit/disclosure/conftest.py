"""Skills on disk and a provider over them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from skillkit import SkillManager
from skillkit.disclosure import SkillContextProvider
from skillkit.matching import SkillMatcher

Provide = Callable[..., SkillContextProvider]


@pytest.fixture
def manager(skills_dir: Path) -> SkillManager:
    """Over `skills_dir`; filled when it is first used."""
    return SkillManager(project_skill_dir=skills_dir)


@pytest.fixture
def provide(manager: SkillManager) -> Provide:
    """A provider with options, `provide(max_skills=1)`, that matches by words whatever is installed."""

    def make(**options: object) -> SkillContextProvider:
        options.setdefault("matcher", SkillMatcher(mode="lexical"))
        return SkillContextProvider(manager, **options)

    return make


@pytest.fixture
def library(write_skill):
    """A skill that greets and one that reads markets."""
    hello = write_skill("hello", "# How to greet\n", description="Greets people", triggers="[bonjour, greet]")
    write_skill("markets", "# How to read markets\n", description="Reads market prices", triggers="[kalshi]")
    return hello
