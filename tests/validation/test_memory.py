"""A hundred skills cost their headers; the text of a skill costs memory when the skill is used."""

import gc
import shutil
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from skillkit import SkillManager

KIB = 1024
BODY = 50 * KIB


@pytest.fixture
def hundred(skills_dir: Path, write_skill) -> Path:
    for number in range(100):
        write_skill(
            f"skill-{number:03}",
            "x" * BODY,
            description=f"Processes files of kind {number} and reports",
            allowed_tools="Read",
        )
    return skills_dir


def held(work: Callable[[], object]) -> tuple[object, int]:
    """What `work` gives and how many bytes it leaves in memory."""
    gc.collect()
    tracemalloc.start()
    try:
        result = work()
        gc.collect()
        return result, tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def discovered(folder: Path) -> SkillManager:
    manager = SkillManager(project_skill_dir=folder, anthropic_config_dir="")
    manager.discover()
    return manager


def test_memory_is_spent_on_the_skills_that_are_used(hundred: Path) -> None:
    discovered(hundred)  # what is imported at first use is not counted
    _, metadata = held(lambda: discovered(hundred))

    def use_ten() -> SkillManager:
        manager = discovered(hundred)
        for number in range(10):
            manager.invoke_skill(f"skill-{number:03}")
        return manager

    _, used = held(use_ten)
    everything = 100 * BODY
    assert metadata < 2.5 * KIB * KIB
    assert metadata < everything / 10, "no text of a skill is in memory"
    assert 10 * BODY <= used - metadata < 10 * BODY * 1.2, "ten texts and nothing more"
    assert used < everything / 5, "80 % less than loading everything"


def test_names_descriptions_and_searches_need_no_file(hundred: Path) -> None:
    manager = discovered(hundred)
    shutil.rmtree(hundred)
    skills = manager.list_skills()
    assert len(skills) == 100
    assert all(skill.allowed_tools == ("Read",) for skill in skills)
    assert manager.get_skill("skill-042").description == "Processes files of kind 42 and reports"
    assert [skill.name for skill in manager.list_skills(keywords="kind 42")] == ["skill-042"]
    assert len(manager.list_skills(name="^skill-00", keywords=["files", "reports"])) == 10
