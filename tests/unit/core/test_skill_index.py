"""Look-up: canonical, qualified, exact, and helpful when it fails."""

import gc
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from skillkit import SkillManager
from skillkit.core.authority import DefaultAuthority
from skillkit.core.availability import Refusal
from skillkit.core.exceptions import SkillNotFoundError
from skillkit.core.models import SkillMetadata, SourceType
from skillkit.core.skill_index import SkillIndex


def skill(name: str, label: str = "project", folder: str | None = None) -> SkillMetadata:
    path = Path("/skills", label, folder or name, "SKILL.md")
    return SkillMetadata(name, "d", path, source=SourceType.CUSTOM, source_label=label)


def catalogue(*skills: SkillMetadata) -> SkillIndex:
    made = SkillIndex()
    for one in skills:
        made.add(one)
    return made


@pytest.mark.parametrize(
    "name",
    [
        "kalshi-markets",
        "Kalshi_Markets",
        "KALSHI MARKETS",
        "project:kalshi-markets",
        "project:Kalshi_Markets",
    ],
)
def test_every_spelling_finds_the_skill(name: str) -> None:
    kalshi = skill("Kalshi_Markets")
    assert catalogue(kalshi).get(name) is kalshi


def steps_of(work: Callable[[], object]) -> int:
    """How many lines of Python `work` takes."""
    count = 0

    def step(frame: FrameType, event: str, argument: object) -> object:
        nonlocal count
        count += event == "line"
        return step

    before = sys.gettrace()
    gc.collect()  # what other tests left would be finalized, and counted, in the middle
    gc.disable()
    sys.settrace(step)
    try:
        work()
    finally:
        sys.settrace(before)
        gc.enable()
    return count


@pytest.mark.parametrize("spelling", ["skill-{:05}", "Skill_{:05}", "project:skill-{:05}"])
def test_a_look_up_takes_as_many_steps_among_ten_thousand_as_among_ten(spelling: str) -> None:
    few, many = (catalogue(*(skill(f"skill-{n:05}") for n in range(size))) for size in (10, 10_000))
    first = steps_of(lambda: few.get(spelling.format(9)))
    assert first > 0
    assert steps_of(lambda: many.get(spelling.format(9_999))) == first


def test_the_first_keeps_the_name_and_the_others_stay_reachable() -> None:
    first, second, third = skill("pdf"), skill("PDF", "plugin-a"), skill("pdf", "plugin-b")
    made = SkillIndex()
    assert made.add(first) is None
    taken = made.add(second)
    assert taken is not None
    assert (taken.winner, taken.address) == (first, "plugin-a:PDF")
    made.add(third)
    assert made.get("pdf") is first
    assert made.get("plugin-a:pdf") is second
    assert made.get("plugin-b:pdf") is third
    assert made.shadowed == {"plugin-a:PDF": second, "plugin-b:pdf": third}
    assert list(made) == [first]
    assert len(made) == 1


def test_two_of_one_name_in_one_source_answer_to_their_folders() -> None:
    skills = [skill("pdf", folder=folder) for folder in ("a/pdf", "b/pdf", "c/a/pdf", "zip")]
    real_zip = skill("zip", folder="zipper")
    made = catalogue(*skills, real_zip)
    for address, shadowed in made.shadowed.items():
        assert made.get(address) is shadowed
    assert list(made.shadowed.values()) == skills[1:]
    assert made.get("project:b/pdf") is skills[1]
    assert made.get("project:zip") is real_zip
    assert len(made.everything) == 5


def test_no_skill_takes_the_address_of_another_by_calling_itself_so() -> None:
    impostor, real = skill("plugin:pdf"), skill("pdf", "plugin")
    made = catalogue(impostor, real)
    assert made.get("plugin:pdf") is real
    assert made.get("project:plugin:pdf") is impostor


def test_a_name_with_a_colon_is_found_when_nobody_else_has_that_address() -> None:
    odd = skill("team:pdf")
    assert catalogue(odd).get("Team:PDF") is odd


def test_iteration_is_sorted() -> None:
    made = catalogue(skill("c"), skill("B"), skill("a"))
    assert [one.name for one in made] == ["a", "B", "c"]


def test_iteration_follows_what_comes_and_who_gets_a_name() -> None:
    made = catalogue(skill("c"), skill("a"))
    assert [one.name for one in made] == ["a", "c"]
    taken = made.add(skill("a", "other"))
    made.add(skill("b"))
    assert [one.source_label for one in made] == ["project"] * 3
    assert taken is not None
    made.promote(taken.address)
    assert [(one.name, one.source_label) for one in made] == [
        ("a", "other"),
        ("b", "project"),
        ("c", "project"),
    ]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        (
            "pdf-extracter",
            ["'pdf-extracter' not found", "Did you mean 'pdf-extractor'?", "Available skills: "],
        ),
        ("nope", ["Skill 'nope' not found", "Available skills: pdf-extractor, zip"]),
        ("plugn:zip", ["Plugin 'plugn' not found", "Did you mean 'plugin'"]),
        ("plugin:zap", ["Skill 'zap' not found in plugin 'plugin'", "Did you mean 'zip'"]),
        ("", ["cannot be empty"]),
        (":x", ["empty plugin or skill"]),
        ("a\x1b[31m", ["'a\\x1b[31m' not found"]),
    ],
)
def test_a_miss_names_what_was_meant(name: str, parts: list[str]) -> None:
    made = catalogue(skill("pdf-extractor"), skill("zip", "plugin"))
    with pytest.raises(SkillNotFoundError) as caught:
        made.get(name)
    assert all(part in str(caught.value) for part in parts), str(caught.value)


def test_a_miss_among_many_does_not_list_them_all() -> None:
    made = catalogue(*(skill(f"skill-{number:03}") for number in range(100)))
    with pytest.raises(SkillNotFoundError, match="and 80 more"):
        made.get("x")


@pytest.mark.parametrize("name", [None, 42])
def test_a_name_that_is_not_text_is_not_found(name: object) -> None:
    with pytest.raises(SkillNotFoundError, match="name is text"):
        catalogue(skill("a")).get(name)


def test_an_untrusted_skill_does_not_take_the_name_of_a_trusted_one(tmp_path, write_skill):
    class TrustsOnlyCustom(DefaultAuthority):
        def offer_refusal(self, skill, requester):
            return None if skill.source_label == "custom" else Refusal("untrusted", "not approved")

    project, own = tmp_path / "project", tmp_path / "own"
    write_skill("pdf", "Theirs.", into=project)
    write_skill("pdf", "Mine.", into=own)
    manager = SkillManager(
        project_skill_dir=project,
        anthropic_config_dir="",
        additional_search_paths=[own],
        authority=TrustsOnlyCustom(),
    )
    for search in (manager.discover, manager.refresh):
        search()
        assert manager.load_skill("pdf").content == "Mine."
        assert manager.load_skill("custom:pdf").content == "Mine."
        assert manager.load_skill("project:pdf").content == "Theirs."
        assert manager.list_skills(include_qualified=True) == ["pdf", "project:pdf"]
        assert [found.code for found in manager.diagnostics] == ["name-collision"]
