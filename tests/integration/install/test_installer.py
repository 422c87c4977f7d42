"""A skill is added, and changes at its source."""

import json
import os
from datetime import datetime
from pathlib import Path

import pytest
from installing import Person, text_of
from skill_repositories import Repository, skill_text

from skillkit.core.manager import SkillManager
from skillkit.install import store
from skillkit.install.exceptions import (
    ConsentError,
    DiskError,
    InstallError,
    LockFileError,
    NameConflictError,
    Remedy,
    SourceError,
    UnsafeTreeError,
)
from skillkit.install.fetch import Choice
from skillkit.install.installer import SkillInstaller
from skillkit.install.registry import InstallRegistry

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


def test_a_source_without_a_skill_says_so(installer: SkillInstaller, repository: Repository) -> None:
    repository.commit({"README.md": "Hello"})
    with pytest.raises(InstallError, match="no folder has a SKILL"):
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
    with pytest.raises(SourceError, match=r"holds 3 skills: a, b, declared\.") as raised:
        installer.add(repository.url)
    assert raised.value.error_code == "many-found"
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
    with pytest.raises(NameConflictError) as refusal:
        installer.add(repository.url)
    assert (refusal.value.remedy, refusal.value.skill) == (Remedy.UPDATE, "pdf")


def test_a_folder_of_the_users_own_is_never_replaced(
    installer: SkillInstaller, repository: Repository, home: Path
) -> None:
    own = home / "skills" / "pdf"
    own.mkdir(parents=True)
    (own / "SKILL.md").write_text(skill_text("pdf", body="Mine."))
    repository.commit({"SKILL.md": skill_text("pdf")})
    with pytest.raises(NameConflictError, match="a file or folder you created"):
        installer.add(repository.url)
    installer.add(repository.url, name="pdf2")
    assert "Mine." in text_of(home, "pdf")


def test_two_skills_of_one_name_in_one_source_are_refused(
    installer: SkillInstaller, repository: Repository
) -> None:
    other = skill_text("same", body="Other.")
    repository.commit({"skills/a/SKILL.md": skill_text("same"), "skills/b/SKILL.md": other})
    with pytest.raises(NameConflictError, match="skills/a"):
        installer.add(repository.url, skills=["a", "b"])
    with pytest.raises(InstallError, match="single skill"):
        installer.add(repository.url, everything=True, name="x")


def test_a_full_disk_refuses_and_a_nearly_full_one_warns(
    installer: SkillInstaller, repository: Repository, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit({"SKILL.md": skill_text("pdf")})
    free = {"bytes": 1000}
    monkeypatch.setattr(installer.store, "free_space", lambda: free["bytes"])
    with pytest.raises(DiskError, match="1,000 bytes free"):
        installer.add(repository.url)
    free["bytes"] = 50_000_000
    installer.add(repository.url)
    assert "only 50 MB are free" in person.last.offers[0].notes[0]


def test_a_lock_is_asked_about_before_anything_is_connected_to(
    installer: SkillInstaller, repository: Repository, home: Path, tmp_path: Path
) -> None:
    repository.commit({"SKILL.md": skill_text("pdf")})
    installer.add(repository.url)
    lock = tmp_path / "skills-lock.json"
    installer.lock(lock)
    os.rename(repository.path, tmp_path / "gone.git")
    refusing = Person(says=False)
    with pytest.raises(ConsentError):
        SkillInstaller(tmp_path / "other", consent=refusing).sync(lock)
    assert [proposal.action for proposal in refusing.asked] == ["reach"]
    assert repository.url in refusing.last.offers[0].origin


def test_a_lock_that_names_a_skill_twice_is_refused(
    installer: SkillInstaller, repository: Repository, tmp_path: Path
) -> None:
    repository.commit({"SKILL.md": skill_text("pdf")})
    installer.add(repository.url)
    lock = tmp_path / "skills-lock.json"
    installer.lock(lock)
    entry = json.dumps(json.loads(lock.read_text())["skills"]["pdf"])
    lock.write_text(f'{{"version": 1, "skills": {{"pdf": {entry}, "pdf": {entry}}}}}')
    with pytest.raises(LockFileError, match="duplicate keys: pdf"):
        installer.sync(lock)


def test_a_name_that_is_too_long_for_a_disk_is_refused_and_a_failed_write_leaves_nothing(
    installer: SkillInstaller, repository: Repository, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit({"SKILL.md": skill_text("pdf"), "x" * 300: "?"})
    with pytest.raises(UnsafeTreeError, match="255 bytes"):
        installer.add(repository.url)
    repository.commit({"SKILL.md": skill_text("pdf"), "zz.md": "?"})

    def full(path: Path, data: bytes, mode: int) -> None:
        if path.name == "zz.md":
            raise OSError(28, "No space left on device", str(path))
        path.write_bytes(data)

    monkeypatch.setattr(store, "write_new", full)
    with pytest.raises(DiskError, match="No space left"):
        installer.add(repository.url)
    assert not [path for path in (home / "store").iterdir() if path.name.startswith("tmp-")]
    assert installer.list() == []
