"""The life of a skill: added, changed at its source, edited here, removed, brought back."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from skill_repositories import Repository, skill_text

from skillkit.core.manager import SkillManager
from skillkit.install.exceptions import (
    ConsentError,
    DiskSpaceError,
    DriftError,
    InstallError,
    LocalEditsError,
    LockFileError,
    ManyFoundError,
    NameConflictError,
    NotInstalledError,
)
from skillkit.install.fetch import Choice
from skillkit.install.installer import SkillInstaller
from skillkit.install.proposal import Proposal, Unattended
from skillkit.install.registry import InstallRegistry

HEADER = "---\nname: pdf\ndescription: What pdf does.\n"


class Person:
    """Says yes or no, and remembers what was shown."""

    def __init__(self, *, says: bool = True) -> None:
        self.says = says
        self.asked: list[Proposal] = []

    def __call__(self, proposal: Proposal) -> bool:
        self.asked.append(proposal)
        return self.says

    @property
    def last(self) -> Proposal:
        return self.asked[-1]


@pytest.fixture
def person() -> Person:
    return Person()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def installer(home: Path, person: Person) -> SkillInstaller:
    return SkillInstaller(home, consent=person)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "skills.git")


def text_of(home: Path, name: str) -> str:
    return (home / "skills" / name / "SKILL.md").read_text()


# Adding


def test_an_added_skill_is_found_by_the_manager_and_recorded(
    installer: SkillInstaller, repository: Repository, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = repository.commit({"SKILL.md": skill_text("Pdf_Reader"), "references/a.md": "A"})
    [skill] = installer.add(repository.url)
    monkeypatch.setenv("AGENT_HOME", str(home))
    monkeypatch.chdir(home)
    manager = SkillManager()
    manager.discover()
    assert [found.name for found in manager.list_skills()] == ["Pdf_Reader"]
    assert manager.read_resource("pdf-reader", "references/a.md").text == "A"
    [record] = InstallRegistry(home).list()
    assert record == skill
    assert record.name_canonical == "pdf-reader"
    assert record.commit_sha == commit
    assert (record.branch, record.tag, record.git_url) == ("main", None, repository.url)
    assert record.installed_path == str(home / "skills" / "pdf-reader")
    assert record.trusted
    assert datetime.fromisoformat(record.installed_at).tzinfo is not None


@pytest.mark.parametrize(
    "path",
    [
        "SKILL.md",
        "skill/SKILL.md",
        "skills/pdf/SKILL.md",
        "plugins/office/skills/pdf/SKILL.md",
        "pdf/SKILL.md",
        ".claude/skills/pdf/SKILL.md",
        ".agents/skills/pdf/SKILL.md",
    ],
)
def test_skills_are_found_where_people_put_them(
    path: str, installer: SkillInstaller, repository: Repository, tmp_path: Path
) -> None:
    repository.commit({path: skill_text("pdf"), "README.md": "Hello"})
    [skill] = installer.add(repository.url)
    assert skill.subpath == path.removesuffix("SKILL.md").rstrip("/")
    folder = tmp_path / "local" / path
    folder.parent.mkdir(parents=True)
    folder.write_text(skill_text("local"))
    [local] = installer.add(str(tmp_path / "local"))
    assert (local.subpath, local.git_url, local.commit_sha) == (skill.subpath, None, None)


def test_a_source_without_a_skill_says_where_it_looked(
    installer: SkillInstaller, repository: Repository
) -> None:
    repository.commit({"README.md": "Hello"})
    with pytest.raises(InstallError, match="skills/\\*/"):
        installer.add(repository.url)


def test_an_empty_repository_says_so(installer: SkillInstaller, repository: Repository) -> None:
    with pytest.raises(InstallError, match="no commit"):
        installer.add(repository.url)


def test_of_many_skills_one_has_to_be_chosen(installer: SkillInstaller, repository: Repository) -> None:
    repository.commit(
        {
            "skills/a/SKILL.md": skill_text("a"),
            "skills/b/SKILL.md": skill_text("b"),
            "skills/folder/SKILL.md": skill_text("declared"),
        }
    )
    with pytest.raises(ManyFoundError) as caught:
        installer.add(repository.url)
    assert caught.value.names == ("a", "b", "declared")
    assert [skill.name for skill in installer.add(repository.url, skills=["B"])] == ["b"]
    assert [skill.name for skill in installer.add(repository.url, skills=["declared"])] == ["declared"]
    with pytest.raises(InstallError, match="no skill 'c'"):
        installer.add(repository.url, skills=["c"])
    offered: list[Choice] = []

    def choose(choices: list[Choice]) -> list[str]:
        offered.extend(choices)
        return [choices[0].path]

    assert [skill.name for skill in installer.add(repository.url, chooser=choose)] == ["a"]
    assert [(choice.name, choice.description) for choice in offered][1] == ("b", "What b does.")
    assert len(installer.add(repository.url, everything=True)) == 3
    assert len(installer.list()) == 3


def test_a_path_or_ref_narrows_the_source(installer: SkillInstaller, repository: Repository) -> None:
    first = repository.commit({"tools/deep/SKILL.md": skill_text("deep", body="One.")})
    repository.git("tag", "-a", "v1.0", "-m", "v1.0", first)
    repository.commit({"tools/deep/SKILL.md": skill_text("deep", body="Two.")})
    [skill] = installer.add(repository.url, ref="v1.0", path="tools/deep")
    assert (skill.commit_sha, skill.tag, skill.branch) == (first, "v1.0", None)
    with pytest.raises(InstallError, match="no folder"):
        installer.add(repository.url, path="nowhere")


def test_a_branch_and_a_tag_of_one_name_are_told_apart(
    installer: SkillInstaller, repository: Repository
) -> None:
    tagged = repository.commit({"SKILL.md": skill_text("x", body="Tagged.")})
    repository.git("tag", "main", tagged)
    repository.commit({"SKILL.md": skill_text("x", body="Branch.")})
    with pytest.raises(InstallError, match="both a branch and a tag"):
        installer.add(repository.url, ref="main")
    assert installer.add(repository.url, ref="refs/tags/main")[0].commit_sha == tagged


def test_a_skill_that_cannot_be_parsed_is_not_installed(
    installer: SkillInstaller, repository: Repository, person: Person, home: Path
) -> None:
    repository.commit({"SKILL.md": "---\nname: x\n---\n"})
    with pytest.raises(InstallError, match=r"'description' is missing in skills/SKILL\.md"):
        installer.add(repository.url)
    assert person.asked == []
    assert not home.exists(), "nothing was written before it was known to be a skill"


def test_an_installed_skill_needs_its_source_no_more(
    installer: SkillInstaller, repository: Repository, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit({"SKILL.md": skill_text("pdf"), "references/a.md": "A"})
    installer.add(repository.url)
    os.rename(repository.path, repository.path.with_suffix(".gone"))
    monkeypatch.setenv("AGENT_HOME", str(home))
    monkeypatch.chdir(home)
    manager = SkillManager(default_sources=True)
    manager.discover()
    assert "Do it." in manager.invoke_skill("pdf")
    assert manager.read_resource("pdf", "references/a.md").text == "A"
    assert all(check.intact for check in SkillInstaller(home).verify())


def test_saying_no_changes_nothing(repository: Repository, home: Path) -> None:
    repository.commit({"SKILL.md": skill_text("pdf")})
    with pytest.raises(ConsentError, match="declined"):
        SkillInstaller(home, consent=Person(says=False)).add(repository.url)
    assert not home.exists()


def test_adding_again_what_is_there_asks_nothing(
    installer: SkillInstaller, repository: Repository, person: Person
) -> None:
    repository.commit({"SKILL.md": skill_text("pdf")})
    first = installer.add(repository.url)
    assert installer.add(repository.url) == first
    assert len(person.asked) == 1
    repository.commit({"SKILL.md": skill_text("pdf", body="New.")})
    with pytest.raises(NameConflictError, match="agent skill update"):
        installer.add(repository.url)


def test_a_folder_of_the_users_own_is_never_replaced(
    installer: SkillInstaller, repository: Repository, home: Path
) -> None:
    own = home / "skills" / "pdf"
    own.mkdir(parents=True)
    (own / "SKILL.md").write_text(skill_text("pdf", body="Mine."))
    repository.commit({"SKILL.md": skill_text("pdf")})
    with pytest.raises(NameConflictError, match="yourself"):
        installer.add(repository.url)
    installer.add(repository.url, name="pdf2")
    assert "Mine." in text_of(home, "pdf")


def test_two_skills_of_one_name_in_one_source_are_refused(
    installer: SkillInstaller, repository: Repository
) -> None:
    repository.commit({"skills/a/SKILL.md": skill_text("same"), "skills/b/SKILL.md": skill_text("same")})
    with pytest.raises(NameConflictError, match="skills/a"):
        installer.add(repository.url, everything=True)
    with pytest.raises(InstallError, match="one skill"):
        installer.add(repository.url, everything=True, name="x")


def test_a_full_disk_refuses_and_a_nearly_full_one_warns(
    installer: SkillInstaller, repository: Repository, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit({"SKILL.md": skill_text("pdf")})
    free = {"bytes": 1000}
    monkeypatch.setattr(installer.store, "free_space", lambda: free["bytes"])
    with pytest.raises(DiskSpaceError, match="1,000 bytes free"):
        installer.add(repository.url)
    free["bytes"] = 50_000_000
    installer.add(repository.url)
    assert "only 50 MB are free" in person.last.offers[0].notes[0]


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
        (f"{HEADER}max_agent_base_version: 0.0.1\n---\n", "made for versions up to 0.0.1"),
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
    assert (fresh.outdated, fresh.note) == (False, "pinned to its commit")
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
    assert any("calls itself 'bank-login' now" in note for note in person.last.offers[0].notes)


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
    with pytest.raises(LocalEditsError, match="overwrite-edits"):
        installer.update("pdf")
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
    unattended = SkillInstaller(home, consent=Unattended(yes=True))
    with pytest.raises(ConsentError, match="--digest"):
        unattended.trust("pdf")
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
    lock = tmp_path / "skills.lock"
    locked_team(installer, repository, lock)
    repository.commit({"skills/a/SKILL.md": skill_text("a", "Newer."), "skills/b/SKILL.md": skill_text("b")})
    other = SkillInstaller(tmp_path / "other", consent=Unattended(yes=True))
    assert [skill.digest for skill in other.sync(lock, frozen=True)] == [
        skill.digest for skill in installer.list()
    ]
    assert other.sync(lock, frozen=True) == []
    assert [skill.branch for skill in other.list()] == ["main", "main"]


def test_a_frozen_sync_refuses_drift_and_a_plain_one_mends_it(
    installer: SkillInstaller, repository: Repository, tmp_path: Path, person: Person
) -> None:
    lock = tmp_path / "skills.lock"
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
    lock = tmp_path / "skills.lock"
    locked_team(installer, repository, lock)
    content = lock.read_text()
    broken = installer.list()[1].commit_sha or ""
    second = content.rindex(broken)
    lock.write_text(content[:second] + "0" * 40 + content[second + 40 :])
    other = SkillInstaller(tmp_path / "other", consent=Unattended(trusted=True))
    with pytest.raises(InstallError):
        other.sync(lock)
    assert other.list() == []


def test_a_commit_that_does_not_hold_what_was_locked_is_refused(
    installer: SkillInstaller, repository: Repository, tmp_path: Path
) -> None:
    lock = tmp_path / "skills.lock"
    locked_team(installer, repository, lock)
    evil = repository.commit(
        {"skills/a/SKILL.md": skill_text("a", "Evil."), "skills/b/SKILL.md": skill_text("b")}
    )
    lock.write_text(lock.read_text().replace(installer.list()[0].commit_sha or "", evil))
    other = SkillInstaller(tmp_path / "other", consent=Unattended(trusted=True))
    with pytest.raises(DriftError, match=r"changed: SKILL\.md"):
        other.sync(lock)
    assert other.list() == []


def test_a_lock_whose_files_do_not_add_up_is_refused(
    installer: SkillInstaller, repository: Repository, tmp_path: Path
) -> None:
    lock = tmp_path / "skills.lock"
    locked_team(installer, repository, lock)
    file = installer.list()[0].files["SKILL.md"].sha256
    lock.write_text(lock.read_text().replace(file, "0" * 64))
    with pytest.raises(LockFileError, match="add up"):
        installer.sync(lock)


def test_local_edits_stop_sync_and_locking(
    installer: SkillInstaller, repository: Repository, tmp_path: Path, home: Path
) -> None:
    lock = tmp_path / "skills.lock"
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
        installer.lock(tmp_path / "skills.lock")
    (folder / "SKILL.md").write_text(skill_text("local", body="Newer."))
    assert installer.outdated()[0].note == "taken from a folder"
    assert len(installer.update("local").previous) == 1


# Event loops


async def test_every_verb_can_be_awaited(installer: SkillInstaller, repository: Repository) -> None:
    repository.commit({"SKILL.md": skill_text("pdf")})
    await installer.aadd(repository.url)
    repository.commit({"SKILL.md": skill_text("pdf", body="Two.")})
    assert (await installer.aoutdated())[0].outdated
    await installer.aupdate("pdf")
    await installer.arollback("pdf")
    assert (await installer.averify())[0].intact
    await installer.aremove("pdf")
    assert installer.list() == []
