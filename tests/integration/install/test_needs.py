"""Skills that need each other: declared needs come along and are remembered; mentions are only shown."""

from pathlib import Path

import pytest
from installing import Person
from skill_repositories import Repository, skill_text

from skillkit.core.manager import SkillManager
from skillkit.install.exceptions import InstallError
from skillkit.install.installer import SkillInstaller


@pytest.fixture
def siblings(repository: Repository) -> Repository:
    repository.commit(
        {
            "skills/fix-bug/SKILL.md": skill_text("fix-bug", "See `other`.", requires="[test-first]"),
            "skills/test-first/SKILL.md": skill_text("test-first", requires="[run-tests]"),
            "skills/run-tests/SKILL.md": skill_text("run-tests"),
            "skills/other/SKILL.md": skill_text("other", "Do not call Skill(tools:fix-bug)."),
        }
    )
    return repository


def test_what_a_skill_needs_comes_along_under_one_consent_with_the_reason(
    installer: SkillInstaller, siblings: Repository, person: Person
) -> None:
    installed = installer.add(siblings.url, skills=["fix-bug"])
    assert {skill.name: skill.came_for for skill in installed} == {
        "fix-bug": (),
        "test-first": ("fix-bug",),
        "run-tests": ("test-first",),
    }
    assert len({skill.revision for skill in installed}) == 1
    [asked] = person.asked
    notes = {offer.name: offer.notes for offer in asked.offers}
    assert notes["fix-bug"] == ("mentions other (same source, not installed): add --with other",)
    assert notes["test-first"] == ("needed by 'fix-bug': its header requires it",)
    assert notes["run-tests"] == ("needed by 'test-first': its header requires it",)
    installer.remove("test-first")
    assert "needed by fix-bug" in person.last.offers[0].notes
    assert "'run-tests' came for it and nothing else needs that" in person.last.offers[0].notes


def test_what_is_there_is_not_fetched_again_and_alone_only_names_it(
    installer: SkillInstaller, siblings: Repository, person: Person
) -> None:
    installed = installer.add(siblings.url, skills=["fix-bug"], alone=True)
    assert [skill.name for skill in installed] == ["fix-bug"]
    assert person.last.offers[0].notes[0].startswith("needs 'test-first', which is not installed")
    installer.add(siblings.url, skills=["run-tests"])
    assert [skill.name for skill in installer.add(siblings.url, path="skills/test-first")] == ["test-first"]
    assert installer.registry.get("fix-bug").needs == ("test-first",)


@pytest.mark.parametrize(
    ("text", "mentioned"),
    [
        ("`test-first`", True),
        ("`/test-first`", True),
        ("[test-first](../test-first/SKILL.md)", True),
        ("[that](../test-first/SKILL.md)", True),
        ("Then /test-first, if the user agrees.", True),
        ("Skill(tools:test-first)", True),
        ('Skill(skill="test-first")', True),
        ("**REQUIRED SUB-SKILL:** Use superpowers:test-first", True),
        ("Use the test-first skill.", False),
        ("Use `test-first-runner` or docs/test-first/a.md", False),
    ],
)
def test_a_skill_of_the_source_that_is_mentioned_is_shown_and_not_installed(
    installer: SkillInstaller, repository: Repository, person: Person, text: str, mentioned: bool
) -> None:
    repository.commit(
        {
            "skills/fix-bug/SKILL.md": skill_text("fix-bug", text),
            "skills/test-first/SKILL.md": skill_text("test-first"),
        }
    )
    assert [skill.name for skill in installer.add(repository.url, skills=["fix-bug"])] == ["fix-bug"]
    note = "mentions test-first (same source, not installed): add --with test-first"
    assert (note in person.last.offers[0].notes) is mentioned
    assert installer.registry.get("fix-bug").needs == ()


def test_what_is_asked_for_with_it_comes_from_the_same_source_or_nothing_does(
    installer: SkillInstaller, siblings: Repository, person: Person
) -> None:
    installed = installer.add(siblings.url, path="skills/other", also=["fix-bug"], alone=True)
    assert {skill.name: skill.came_for for skill in installed} == {"other": (), "fix-bug": ()}
    assert len(person.asked) == 1
    with pytest.raises(InstallError, match="has no skill 'lost'"):
        installer.add(siblings.url, skills=["run-tests"], also=["lost"])
    assert [skill.name for skill in installer.list()] == ["fix-bug", "other"]


def test_an_unmet_need_keeps_a_skill_out_of_use_and_says_why(
    installer: SkillInstaller, siblings: Repository, home: Path
) -> None:
    installer.add(siblings.url, skills=["test-first"], alone=True)
    manager = SkillManager(project_skill_dir=home / "skills", anthropic_config_dir="")
    manager.discover()
    refusal = manager.refusal(manager.get_skill("test-first"))
    assert refusal is not None
    assert "the skill 'run-tests', which was not found" in refusal.reason
    installer.add(siblings.url, skills=["run-tests"])
    manager.refresh()
    assert manager.refusal(manager.get_skill("test-first")) is None
