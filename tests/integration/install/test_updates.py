"""A new version is shown before it is taken, and what moved is said in words."""

import os
from pathlib import Path

import pytest
from installing import HEADER, Person, text_of
from skill_repositories import Repository, skill_text

from skillkit.install.exceptions import (
    ConsentError,
    InstallError,
)
from skillkit.install.installer import SkillInstaller
from skillkit.install.proposal import PresetAnswers

# Updating


def test_an_update_shows_what_changes_and_keeps_the_old_version(
    installer: SkillInstaller, repository: Repository, person: Person, home: Path
) -> None:
    old = repository.commit({"SKILL.md": skill_text("pdf"), "100644 scripts/run.py": "print(1)\n"})
    installer.add(repository.url)
    new = repository.commit(
        {
            "SKILL.md": skill_text("pdf", body="Do it better.", allowed_tools="Bash"),
            "100755 scripts/run.py": "print(1)\n",
            "scripts/new.sh": "curl https://api.example.com/x\n",
        }
    )
    skill = installer.update("PDF")
    offer = person.last.offers[0]
    assert (offer.previous_commit, offer.commit) == (old, new)
    assert [str(change) for change in offer.changes] == [
        "changed: SKILL.md",
        "added: scripts/new.sh",
        "mode: scripts/run.py",
    ]
    assert "+Do it better." in offer.diff
    assert ("hosts named", ("api.example.com",), ()) in offer.capability_changes
    assert ("tools", ("Bash",), ()) in offer.capability_changes
    assert offer.notes == ()
    assert skill.trusted
    assert [version.commit_sha for version in skill.previous] == [old]
    assert "better" in text_of(home, "pdf")


def test_an_update_without_news_asks_nothing(
    installer: SkillInstaller, repository: Repository, person: Person
) -> None:
    repository.commit({"skills/pdf/SKILL.md": skill_text("pdf")})
    [before] = installer.add(repository.url)
    assert installer.update("pdf") == before
    elsewhere = repository.commit({"skills/pdf/SKILL.md": skill_text("pdf"), "README.md": "More."})
    after = installer.update("pdf")
    assert (after.digest, after.commit_sha) == (before.digest, elsewhere)
    assert len(person.asked) == 1


def test_a_declined_update_changes_nothing(
    installer: SkillInstaller, repository: Repository, person: Person, home: Path
) -> None:
    repository.commit({"SKILL.md": skill_text("pdf")})
    installer.add(repository.url)
    repository.commit({"SKILL.md": skill_text("pdf", body="Worse.")})
    person.says = False
    with pytest.raises(ConsentError):
        installer.update("pdf")
    assert "Do it." in text_of(home, "pdf")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ("---\nname: pdf\nsummary: it was called description once\n---\n", "description"),
        ("---\nname: [pdf\ndescription: Broken.\n---\n", "The skill cannot be installed: .*line"),
        ("# No header at all\n", "The skill cannot be installed"),
        (f"{HEADER}min_agent_base_version: 99.0.0\n---\n", "needs version 99.0.0 or newer"),
        (f"{HEADER}max_agent_base_version: 0.0.1\n---\n", "supports versions up to 0.0.1"),
    ],
)
def test_an_update_that_this_version_cannot_load_is_an_error_and_the_old_state_stays(
    changed: str, message: str, repository: Repository, person: Person, home: Path
) -> None:
    installer = SkillInstaller(home, consent=person)
    repository.commit({"SKILL.md": skill_text("pdf")})
    before = installer.add(repository.url)
    registry = (home / "skills" / "registry.json").read_bytes()
    repository.commit({"SKILL.md": changed})
    with pytest.raises(InstallError, match=message):
        installer.update("pdf")
    assert len(person.asked) == 1, "nobody is asked for what cannot be done"
    assert installer.list() == before
    assert (home / "skills" / "registry.json").read_bytes() == registry
    assert "Do it." in text_of(home, "pdf")
    mended = repository.commit({"SKILL.md": skill_text("pdf", body="Mended.")})
    assert installer.update("pdf").commit_sha == mended


def test_a_skill_for_another_version_is_not_installed(
    installer: SkillInstaller, repository: Repository
) -> None:
    repository.commit({"SKILL.md": f"{HEADER}min_agent_base_version: 99.0.0\n---\n"})
    with pytest.raises(InstallError, match=r"needs version 99\.0\.0 or newer.*Nothing was changed"):
        installer.add(repository.url)
    assert installer.list() == []


def test_a_moved_tag_is_said_in_words(
    installer: SkillInstaller, repository: Repository, person: Person
) -> None:
    repository.git("tag", "v1", repository.commit({"SKILL.md": skill_text("pdf")}))
    installer.add(repository.url, ref="v1")
    moved = repository.commit({"SKILL.md": skill_text("pdf", body="Other.")})
    [fresh] = installer.outdated()
    assert not fresh.outdated
    repository.git("tag", "--force", "v1", moved)
    [fresh] = installer.outdated()
    assert fresh.outdated
    assert "was moved" in fresh.note
    installer.update("pdf")
    assert "the tag 'v1' was moved" in person.last.offers[0].notes[0]


def test_a_rewritten_branch_is_said_in_words(
    installer: SkillInstaller, repository: Repository, person: Person
) -> None:
    repository.commit({"SKILL.md": skill_text("pdf")})
    installer.add(repository.url)
    repository.commit({"SKILL.md": skill_text("pdf", body="Forced.")}, fresh=True)
    installer.update("pdf")
    assert "rewritten" in person.last.offers[0].notes[0]


def test_a_name_that_belongs_to_another_repository_now_is_said_in_words(
    installer: SkillInstaller, repository: Repository, person: Person, tmp_path: Path
) -> None:
    repository.commit({"SKILL.md": skill_text("pdf")})
    installer.add(repository.url)
    os.rename(repository.path, tmp_path / "gone.git")
    squatter = Repository(repository.path)
    squatter.commit({"SKILL.md": skill_text("pdf", body="Squatted.")})
    installer.update("pdf")
    assert "belongs to another repository" in person.last.offers[0].notes[0]


def test_a_pinned_skill_stays_until_it_is_told_otherwise(
    installer: SkillInstaller, repository: Repository
) -> None:
    first = repository.commit({"SKILL.md": skill_text("pdf")})
    installer.add(repository.url, ref=first)
    second = repository.commit({"SKILL.md": skill_text("pdf", body="New.")})
    [fresh] = installer.outdated()
    assert (fresh.outdated, fresh.note) == (False, "pinned to its version")
    assert installer.update("pdf").commit_sha == first
    assert installer.update("pdf", ref=second).commit_sha == second


def test_a_skill_that_left_its_place_is_not_replaced_by_another(
    installer: SkillInstaller, repository: Repository
) -> None:
    repository.commit({"skills/pdf/SKILL.md": skill_text("pdf")})
    installer.add(repository.url)
    repository.commit({"skills/other/SKILL.md": skill_text("pdf")})
    with pytest.raises(InstallError, match="no folder"):
        installer.update("pdf")


def test_a_skill_that_calls_itself_otherwise_now_keeps_its_place(
    installer: SkillInstaller, repository: Repository, person: Person
) -> None:
    repository.commit({"SKILL.md": skill_text("pdf")})
    installer.add(repository.url)
    repository.commit({"SKILL.md": skill_text("bank-login")})
    assert installer.update("pdf").name == "pdf"
    assert any("declared name is now 'bank-login'" in note for note in person.last.offers[0].notes)


def test_a_commit_that_no_branch_or_tag_holds_is_said_and_not_vouched_for_by_yes(
    installer: SkillInstaller, repository: Repository, person: Person, home: Path
) -> None:
    own = repository.commit({"SKILL.md": skill_text("pdf")})
    tip = repository.commit({"SKILL.md": skill_text("pdf", body="Newer.")})
    theirs = repository.commit(
        {"SKILL.md": skill_text("pdf", body="Theirs.")}, ref="refs/pull/9/head", fresh=True
    )
    unattended = SkillInstaller(home, consent=PresetAnswers(yes=True))
    with pytest.raises(ConsentError):
        unattended.add(repository.url, ref=theirs)
    installer.add(repository.url, ref=theirs, name="fork")
    assert "no branch or tag" in person.last.offers[0].notes[0]
    for commit in (own, tip):
        unattended.add(repository.url, ref=commit, name=f"own-{commit[:4]}")
    with pytest.raises(ConsentError):
        unattended.update(f"own-{own[:4]}", ref=theirs)


def test_going_back_to_an_older_commit_is_called_that(
    installer: SkillInstaller, repository: Repository, person: Person, tmp_path: Path
) -> None:
    repository.commit({"SKILL.md": skill_text("pdf")})
    installer.add(repository.url)
    lock = tmp_path / "skills-lock.json"
    installer.lock(lock)
    repository.commit({"SKILL.md": skill_text("pdf", body="Newer.")})
    installer.update("pdf")
    installer.sync(lock)
    assert any("OLDER" in note for note in person.last.offers[0].notes)
