"""A skill that is there: edited, removed, brought back, trusted, locked."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from installing import Person, text_of
from skill_repositories import Repository, skill_text

from skillkit.install.exceptions import (
    ConsentError,
    DriftError,
    InstallError,
    LocalEditsError,
    LockFileError,
    NotInstalledError,
    Remedy,
)
from skillkit.install.installer import SkillInstaller
from skillkit.install.proposal import PresetAnswers, Proposal
from skillkit.install.registry import InstallRegistry

# Local edits


def edit(home: Path, name: str, text: str) -> None:
    path = home / "skills" / name / "SKILL.md"
    path.chmod(0o644)
    path.write_text(text)


def test_local_edits_are_found_and_never_thrown_away(
    installer: SkillInstaller, repository: Repository, home: Path, person: Person
) -> None:
    repository.commit({"SKILL.md": skill_text("pdf")})
    installer.add(repository.url)
    edit(home, "pdf", skill_text("pdf", body="My own words."))
    [check] = installer.verify()
    assert [str(change) for change in check.edits] == ["changed: SKILL.md"]
    repository.commit({"SKILL.md": skill_text("pdf", body="Theirs.")})
    with pytest.raises(LocalEditsError, match="was edited here") as refusal:
        installer.update("pdf")
    assert (refusal.value.remedy, refusal.value.skill) == (Remedy.OVERWRITE_EDITS, "pdf")
    assert "My own words." in text_of(home, "pdf")
    installer.update("pdf", overwrite_edits=True)
    assert any("kept for rollback" in note for note in person.last.offers[0].notes)
    assert "Theirs." in text_of(home, "pdf")
    assert all(check.intact for check in installer.verify())
    back = installer.rollback("pdf")
    assert "My own words." in text_of(home, "pdf")
    assert not back.trusted, "nobody approved the edited bytes"


def test_edited_files_can_be_put_back_without_any_news(
    installer: SkillInstaller, repository: Repository, home: Path
) -> None:
    repository.commit({"SKILL.md": skill_text("pdf")})
    installer.add(repository.url)
    edit(home, "pdf", "garbage")
    (home / "skills" / "pdf" / "extra").write_text("x")
    assert {str(change) for change in installer.verify()[0].edits} == {"changed: SKILL.md", "added: extra"}
    installer.update("pdf", overwrite_edits=True)
    assert "Do it." in text_of(home, "pdf")
    assert all(check.intact for check in installer.verify())


def test_a_deleted_folder_is_noticed_and_can_be_restored(
    installer: SkillInstaller, repository: Repository, home: Path
) -> None:
    repository.commit({"SKILL.md": skill_text("pdf")})
    [skill] = installer.add(repository.url)
    (home / "store" / skill.stored / "SKILL.md").unlink()
    (home / "store" / skill.stored).rmdir()
    assert not installer.verify()[0].intact
    installer.update("pdf", overwrite_edits=True)
    assert installer.verify()[0].intact


def test_an_edited_skill_can_be_removed_and_comes_back_edited(
    installer: SkillInstaller, repository: Repository, home: Path, person: Person
) -> None:
    repository.commit({"SKILL.md": skill_text("pdf")})
    installer.add(repository.url)
    edit(home, "pdf", skill_text("pdf", body="Mine."))
    installer.remove("pdf")
    assert any("trash" in note for note in person.last.offers[0].notes)
    installer.rollback("pdf")
    assert "Mine." in text_of(home, "pdf")


# Removing and going back


def test_a_removed_skill_stays_in_the_trash_for_seven_days(repository: Repository, home: Path) -> None:
    clock = {"now": datetime(2026, 1, 1, tzinfo=UTC)}
    registry = InstallRegistry(home, now=lambda: clock["now"])
    installer = SkillInstaller(consent=Person(), registry=registry)
    repository.commit({"SKILL.md": skill_text("pdf")})
    [skill] = installer.add(repository.url)
    installer.remove("pdf")
    assert not (home / "skills" / "pdf").exists()
    clock["now"] += timedelta(days=6)
    assert installer.rollback("pdf").digest == skill.digest
    assert (home / "skills" / "pdf" / "SKILL.md").is_file()
    installer.remove("pdf")
    clock["now"] += timedelta(days=8)
    with pytest.raises(NotInstalledError):
        installer.rollback("pdf")
    with registry.transaction():
        pass
    assert list((home / "store").iterdir()) == []


def test_rollback_goes_back_and_forth(installer: SkillInstaller, repository: Repository, home: Path) -> None:
    repository.commit({"SKILL.md": skill_text("pdf", body="One.")})
    installer.add(repository.url)
    with pytest.raises(InstallError, match="no earlier version"):
        installer.rollback("pdf")
    repository.commit({"SKILL.md": skill_text("pdf", body="Two.")})
    installer.update("pdf")
    assert installer.rollback("pdf").trusted
    assert "One." in text_of(home, "pdf")
    installer.rollback("pdf")
    assert "Two." in text_of(home, "pdf")


def test_a_damaged_earlier_version_is_not_brought_back(
    installer: SkillInstaller, repository: Repository, home: Path
) -> None:
    repository.commit({"SKILL.md": skill_text("pdf", body="One.")})
    [first] = installer.add(repository.url)
    repository.commit({"SKILL.md": skill_text("pdf", body="Two.")})
    installer.update("pdf")
    path = home / "store" / first.stored / "SKILL.md"
    path.chmod(0o644)
    path.write_text("tampered")
    with pytest.raises(DriftError, match="damaged"):
        installer.rollback("pdf")
    assert "Two." in text_of(home, "pdf")


def test_old_versions_are_kept_five_deep_and_then_collected(
    installer: SkillInstaller, repository: Repository, home: Path
) -> None:
    repository.commit({"SKILL.md": skill_text("pdf", body="0")})
    installer.add(repository.url)
    for number in range(1, 8):
        repository.commit({"SKILL.md": skill_text("pdf", body=str(number))})
        installer.update("pdf")
    assert len(installer.list()[0].previous) == 5
    assert len(list((home / "store").iterdir())) == 6


def test_unknown_names_are_said_with_what_is_there(installer: SkillInstaller, repository: Repository) -> None:
    repository.commit({"SKILL.md": skill_text("pdf")})
    installer.add(repository.url)
    for action in (installer.update, installer.remove, installer.info, installer.trust):
        with pytest.raises(NotInstalledError, match="Installed: pdf"):
            action("nope")
    with pytest.raises(NotInstalledError, match="neither"):
        installer.rollback("nope")


# Trust


def test_trust_can_be_taken_back_and_given_again(
    installer: SkillInstaller, repository: Repository, home: Path, person: Person
) -> None:
    repository.commit({"SKILL.md": skill_text("pdf")})
    installer.add(repository.url)
    assert not installer.revoke("pdf").trusted
    assert installer.trust("pdf").trusted
    assert person.last.action == "trust"
    assert installer.trust("pdf").trusted
    edit(home, "pdf", "changed")
    with pytest.raises(LocalEditsError):
        installer.trust("pdf")


def test_where_nobody_can_be_asked_trust_needs_the_digest(
    installer: SkillInstaller, repository: Repository, home: Path
) -> None:
    repository.commit({"SKILL.md": skill_text("pdf")})
    [skill] = installer.add(repository.url)
    installer.revoke("pdf")
    unattended = SkillInstaller(home, consent=PresetAnswers(yes=True))
    with pytest.raises(ConsentError) as refusal:
        unattended.trust("pdf")
    assert refusal.value.remedy is Remedy.CONSENT_DIGEST
    assert unattended.trust("pdf", pinned=skill.digest).trusted


def test_info_tells_everything(installer: SkillInstaller, repository: Repository, home: Path) -> None:
    repository.commit({"SKILL.md": skill_text("pdf", version="1.2.0"), "scripts/run.py": "x"})
    installer.add(repository.url)
    info = installer.info("pdf")
    assert info.metadata.version == "1.2.0"
    assert info.capabilities.scripts == ("scripts/run.py (python)",)
    assert info.edits == ()


# Locking


def locked_team(installer: SkillInstaller, repository: Repository, lock: Path) -> None:
    repository.commit({"skills/a/SKILL.md": skill_text("a"), "skills/b/SKILL.md": skill_text("b")})
    installer.add(repository.url, everything=True)
    installer.lock(lock)


def test_sync_restores_exactly_what_was_locked_on_another_machine(
    installer: SkillInstaller, repository: Repository, tmp_path: Path
) -> None:
    lock = tmp_path / "skills-lock.json"
    locked_team(installer, repository, lock)
    repository.commit({"skills/a/SKILL.md": skill_text("a", "Newer."), "skills/b/SKILL.md": skill_text("b")})
    other = SkillInstaller(tmp_path / "other", consent=PresetAnswers(yes=True))
    assert [skill.digest for skill in other.sync(lock, frozen=True)] == [
        skill.digest for skill in installer.list()
    ]
    assert other.sync(lock, frozen=True) == []
    assert [skill.branch for skill in other.list()] == ["main", "main"]


def test_a_frozen_sync_refuses_drift_and_a_plain_one_mends_it(
    installer: SkillInstaller, repository: Repository, tmp_path: Path, person: Person
) -> None:
    lock = tmp_path / "skills-lock.json"
    locked_team(installer, repository, lock)
    repository.commit({"skills/a/SKILL.md": skill_text("a", "Newer."), "skills/b/SKILL.md": skill_text("b")})
    installer.update("a")
    with pytest.raises(DriftError, match=r"a \("):
        installer.sync(lock, frozen=True)
    assert [skill.name for skill in installer.sync(lock)] == ["a"]
    assert person.last.offers[0].changes
    installer.sync(lock, frozen=True)
    installer.revoke("a")
    assert [skill.trusted for skill in installer.sync(lock)] == [True]


def test_sync_is_all_or_nothing(installer: SkillInstaller, repository: Repository, tmp_path: Path) -> None:
    lock = tmp_path / "skills-lock.json"
    locked_team(installer, repository, lock)
    content = lock.read_text()
    broken = installer.list()[1].commit_sha or ""
    second = content.rindex(broken)
    lock.write_text(content[:second] + "0" * 40 + content[second + 40 :])
    other = SkillInstaller(tmp_path / "other", consent=PresetAnswers(trusted=True))
    with pytest.raises(InstallError):
        other.sync(lock)
    assert other.list() == []


def test_a_commit_that_does_not_hold_what_was_locked_is_refused(
    installer: SkillInstaller, repository: Repository, tmp_path: Path
) -> None:
    lock = tmp_path / "skills-lock.json"
    locked_team(installer, repository, lock)
    evil = repository.commit(
        {"skills/a/SKILL.md": skill_text("a", "Evil."), "skills/b/SKILL.md": skill_text("b")}
    )
    lock.write_text(lock.read_text().replace(installer.list()[0].commit_sha or "", evil))
    other = SkillInstaller(tmp_path / "other", consent=PresetAnswers(trusted=True))
    with pytest.raises(DriftError, match=r"changed: SKILL\.md"):
        other.sync(lock)
    assert other.list() == []


def test_a_lock_whose_files_do_not_add_up_is_refused(
    installer: SkillInstaller, repository: Repository, tmp_path: Path
) -> None:
    lock = tmp_path / "skills-lock.json"
    locked_team(installer, repository, lock)
    file = installer.list()[0].files["SKILL.md"].sha256
    lock.write_text(lock.read_text().replace(file, "0" * 64))
    with pytest.raises(LockFileError, match="do not match its digest"):
        installer.sync(lock)


def test_local_edits_stop_sync_and_locking(
    installer: SkillInstaller, repository: Repository, tmp_path: Path, home: Path
) -> None:
    lock = tmp_path / "skills-lock.json"
    locked_team(installer, repository, lock)
    edit(home, "a", "mine")
    with pytest.raises(LocalEditsError):
        installer.sync(lock)
    with pytest.raises(LocalEditsError):
        installer.lock(lock)
    with pytest.raises(LockFileError, match="no "):
        installer.sync(tmp_path / "missing.lock")


def test_a_skill_from_a_folder_cannot_be_locked(installer: SkillInstaller, tmp_path: Path) -> None:
    folder = tmp_path / "local"
    folder.mkdir()
    (folder / "SKILL.md").write_text(skill_text("local"))
    installer.add(str(folder))
    with pytest.raises(LockFileError, match="local"):
        installer.lock(tmp_path / "skills-lock.json")
    (folder / "SKILL.md").write_text(skill_text("local", body="Newer."))
    [fresh] = installer.outdated()
    assert (fresh.outdated, fresh.latest) == (True, None)
    assert len(installer.update("local").previous) == 1


# Event loops


async def test_every_verb_works_in_a_thread_of_an_event_loop(
    installer: SkillInstaller, repository: Repository
) -> None:
    repository.commit({"SKILL.md": skill_text("pdf")})
    await asyncio.to_thread(installer.add, repository.url)
    repository.commit({"SKILL.md": skill_text("pdf", body="Two.")})
    assert (await asyncio.to_thread(installer.outdated))[0].outdated
    await asyncio.to_thread(installer.update, "pdf")
    await asyncio.to_thread(installer.rollback, "pdf")
    assert (await asyncio.to_thread(installer.verify))[0].intact
    await asyncio.to_thread(installer.remove, "pdf")
    assert installer.list() == []


def test_an_update_that_another_one_overtook_is_refused(
    repository: Repository, installer: SkillInstaller, home: Path
) -> None:
    """The person is asked about what is installed; what is installed meanwhile was not in the question."""
    repository.commit({"SKILL.md": skill_text("pdf", body="One.")})
    installer.add(repository.url)
    second = repository.commit({"SKILL.md": skill_text("pdf", body="Two.")})

    def overtaken(proposal: Proposal) -> bool:
        installer.update("pdf", ref=second)
        repository.commit({"SKILL.md": skill_text("pdf", body="Three.")})
        return True

    slow = SkillInstaller(home, consent=overtaken)
    with pytest.raises(DriftError, match="by another process"):
        slow.update("pdf")
    assert "Two." in text_of(home, "pdf")
