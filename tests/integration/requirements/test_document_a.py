"""Sentences of document A, each as the short program that a sceptical reader would write and run at once."""

from pathlib import Path

import pytest

from skillkit import SkillManager


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "skills"


def write(root: Path, name: str, text: str) -> Path:
    """A SKILL.md that is as young as a file can be."""
    file = root / name / "SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def discovered(root: Path, **options) -> SkillManager:
    manager = SkillManager(project_skill_dir=root, anthropic_config_dir="", **options)
    manager.discover()
    return manager


GREETER = "---\nname: greeter\ndescription: Greets\n---\nHello $ARGUMENTS\n"


def test_the_second_invocation_is_a_hit(root: Path) -> None:
    write(root, "greeter", GREETER)
    manager = discovered(root)
    texts = [manager.invoke_skill("greeter", "Ann") for _ in range(3)]
    assert texts[0].endswith("Hello Ann\n")
    assert texts[0] is texts[1] is texts[2]
    stats = manager.get_cache_stats()
    assert (stats.size, stats.hits, stats.misses) == (1, 2, 1)


def test_more_than_eighty_percent_hits_with_a_few_common_arguments(root: Path) -> None:
    write(root, "greeter", GREETER)
    manager = discovered(root)
    for call in range(20):
        manager.invoke_skill("greeter", "Ann" if call % 2 else "Bob")
    assert manager.get_cache_stats().hit_rate == 0.9


def test_the_cache_holds_as_many_entries_as_asked_and_drops_the_one_used_longest_ago(root: Path) -> None:
    write(root, "greeter", GREETER)
    manager = discovered(root, max_cache_size=2)
    for name in ("Ann", "Bob", "Ann", "Eve", "Ann", "Bob"):
        manager.invoke_skill("greeter", name)
    stats = manager.get_cache_stats()
    assert (stats.size, stats.hits, stats.misses) == (2, 2, 4), "Bob made space for Eve, not Ann"


def test_a_file_changed_within_a_tick_is_a_miss(root: Path) -> None:
    file = write(root, "greeter", GREETER)
    manager = discovered(root)
    for word in ("Adieu", "Howdy", "Salve"):
        file.write_text(GREETER.replace("Hello", word))
        assert manager.invoke_skill("greeter", "Ann").endswith(f"{word} Ann\n")
        assert manager.invoke_skill("greeter", "Ann").endswith(f"{word} Ann\n")
    stats = manager.get_cache_stats()
    assert (stats.hits, stats.misses) == (3, 3)


def test_the_cache_is_cleared_for_one_skill_or_all(root: Path) -> None:
    write(root, "greeter", GREETER)
    write(root, "other", GREETER.replace("greeter", "other"))
    manager = discovered(root)
    for name in ("greeter", "other", "other"):
        manager.invoke_skill(name, "Ann")
    assert manager.clear_cache("greeter") == 1
    assert manager.clear_cache() == 1
    manager.invoke_skill("other", "Ann")
    assert manager.get_cache_stats().misses == 3
