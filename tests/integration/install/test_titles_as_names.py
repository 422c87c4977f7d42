"""Skills whose names are titles: installed under a plain name, visibly, and found again by either."""

from pathlib import Path

import pytest
from installing import Person
from skill_repositories import Repository, skill_text

from skillkit.install.enabled import EnabledSkills
from skillkit.install.exceptions import InstallError, NameConflictError
from skillkit.install.installer import SkillInstaller

TITLE = "Sales & Growth (B2B)"
PLAIN = "sales-growth-b2b"


def titled(title: str, body: str = "Do it.") -> str:
    return skill_text("NAME", body=body).replace("name: NAME", f'name: "{title}"')


@pytest.fixture
def added(installer: SkillInstaller, repository: Repository) -> SkillInstaller:
    repository.commit({"skills/sales/SKILL.md": titled(TITLE), "skills/pdf/SKILL.md": skill_text("pdf")})
    installer.add(repository.url, everything=True)
    return installer


def test_the_name_is_mended_and_the_card_says_so(added: SkillInstaller, person: Person, home: Path) -> None:
    offers = {offer.name: offer for offer in person.last.offers}
    assert f"name derived from '{TITLE}'" in offers[PLAIN].notes
    assert not any("derived" in note for note in offers["pdf"].notes)
    (skill,) = (skill for skill in added.registry.load().skills.values() if skill.mended_from)
    assert (skill.name, skill.name_canonical, skill.mended_from) == (PLAIN, PLAIN, TITLE)
    assert (home / "skills" / PLAIN / "SKILL.md").is_file()


def test_loading_gives_it_the_name_it_is_installed_as(added: SkillInstaller, home: Path) -> None:
    skills = EnabledSkills(home, search=[home / "skills"], environment={}).manager.list_skills()
    assert PLAIN in {skill.canonical_name for skill in skills}
    assert TITLE not in {skill.name for skill in skills}


@pytest.mark.parametrize("name", [TITLE, PLAIN])
def test_it_is_updated_verified_removed_and_brought_back_by_either_name(
    name: str, added: SkillInstaller, repository: Repository, person: Person
) -> None:
    newest = repository.commit({"skills/sales/SKILL.md": titled(TITLE, "Do it well.")})
    assert [item.outdated for item in added.outdated([name])] == [True]
    updated = added.update(name)
    assert (updated.name, updated.revision, updated.mended_from) == (PLAIN, newest, TITLE)
    assert not any("declare" in note for note in person.last.offers[0].notes)
    assert [check.intact for check in added.verify([name])] == [True]
    assert added.rollback(name).name == PLAIN
    assert added.remove(name).name == PLAIN
    assert added.rollback(name).name == PLAIN


def test_it_is_chosen_from_a_source_by_either_name(installer: SkillInstaller, repository: Repository) -> None:
    repository.commit({"skills/a/SKILL.md": titled(TITLE), "skills/pdf/SKILL.md": skill_text("pdf")})
    offered = {choice.name: choice.mended_from for choice in installer.look(repository.url).choices}
    assert offered == {PLAIN: TITLE, "pdf": ""}
    for name in (TITLE, PLAIN):
        assert [skill.name for skill in installer.add(repository.url, skills=[name])] == [PLAIN]


def test_a_lock_restores_it_elsewhere_under_the_same_name(
    added: SkillInstaller, person: Person, tmp_path: Path
) -> None:
    lock = tmp_path / "skills-lock.json"
    added.lock(lock)
    other = SkillInstaller(tmp_path / "other", consent=person)
    restored = {skill.name: skill for skill in other.sync(lock, frozen=True)}
    assert restored[PLAIN].mended_from == TITLE
    assert other.sync(lock, frozen=True) == []


def test_of_two_titles_with_one_plain_name_the_second_is_left_out_and_named(
    installer: SkillInstaller, repository: Repository
) -> None:
    repository.commit(
        {"skills/a/SKILL.md": titled(TITLE), "skills/b/SKILL.md": titled("Sales + Growth, B2B")}
    )
    installed = installer.add(repository.url, everything=True)
    assert [(skill.name, skill.subpath) for skill in installed] == [(PLAIN, "skills/a")]
    (left,) = installed.left_out
    assert (left.path, PLAIN in left.reason) == ("skills/b", True)
    with pytest.raises(NameConflictError, match=PLAIN):
        installer.add(repository.url, path="skills/b")


@pytest.mark.parametrize(
    "name", ["-rf now", "Run $HOME", "a; b", "a | b", "Wh\u0430t is it", "con+", "End.", "a" * 60 + " (long)"]
)
def test_what_is_no_title_stays_refused(name: str, installer: SkillInstaller, repository: Repository) -> None:
    repository.commit({"skills/a/SKILL.md": titled(name)})
    with pytest.raises(InstallError):
        installer.add(repository.url)
    assert not installer.registry.load().skills


def test_a_skill_that_mentions_itself_does_not_need_itself(
    installer: SkillInstaller, repository: Repository
) -> None:
    text = titled(TITLE, f"REQUIRED SUB-SKILL: Use the `{PLAIN}` skill. Then invoke `{PLAIN}`.")
    repository.commit({f"skills/{PLAIN}/SKILL.md": text})
    assert installer.add(repository.url)[0].needs == ()
