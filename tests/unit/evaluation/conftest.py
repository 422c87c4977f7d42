"""Skills to be tested."""

from pathlib import Path

import pytest

from skillkit.evaluation import SkillTester, find_targets


@pytest.fixture
def tester(skills_dir: Path):
    """A tester of everything in the folder of skills, without running scripts."""

    def made(*paths: Path, **options: object) -> SkillTester:
        targets = find_targets(paths or (skills_dir,))
        return SkillTester(targets.skills, targets.suites, mode="lexical", **options)

    return made
