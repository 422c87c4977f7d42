"""Taking over what other tools left: installed skills where they lie, and their locks."""

import hashlib
import io
import json
import zipfile
from pathlib import Path

import pytest
from file_server import FileServer
from installing import Person
from skill_repositories import Repository, skill_text

from skillkit.core.digest import tree_digest
from skillkit.install.apm_lock import read_apm_lock
from skillkit.install.installer import SkillInstaller
from skillkit.install.lockfile import find_lock
from skillkit.install.sources.clawhub import ClawHubSource

APM = Path(__file__).parents[4] / "shared" / "data" / "formats" / "apm"


@pytest.fixture(autouse=True)
def user_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "user"
    (folder / ".agents" / "skills").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(folder))
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    return folder


def put(folder: Path, text: str, **more: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(text)
    for name, content in more.items():
        (folder / name).write_text(content)
    return folder


def test_what_npx_installed_from_a_folder_is_adopted_and_found_in_it(
    installer: SkillInstaller, user_home: Path, tmp_path: Path
) -> None:
    source = tmp_path / "elsewhere"
    original = put(source / "skills/pdf", skill_text("pdf", "One."))
    copy = put(user_home / ".agents/skills/pdf", skill_text("pdf", "One."))
    put(user_home / ".agents/skills/lost", skill_text("lost"))
    put(user_home / ".agents/skills/vague", skill_text("vague"))
    folders = {"pdf": str(source), "lost": str(tmp_path / "gone"), "vague": "./here"}
    entries = {
        name: {"source": folder, "sourceType": "local", "sourceUrl": folder, "skillFolderHash": "0" * 64}
        for name, folder in folders.items()
    }
    lock = {"version": 3, "skills": entries, "dismissed": {}}
    (user_home / ".agents/.skill-lock.json").write_text(json.dumps(lock))
    adopted = installer.adopt(tmp_path)
    assert [skill.name for skill in adopted] == ["pdf"]
    assert {Path(left.path).name for left in adopted.left_out} == {"lost", "vague"}
    (original / "SKILL.md").write_text(skill_text("pdf", "Two."))
    installer.update("pdf")
    assert "Two." in (copy / "SKILL.md").read_text()


def test_what_npx_installed_is_adopted_where_it_lies_and_updated_there(
    installer: SkillInstaller, repository: Repository, user_home: Path, tmp_path: Path
) -> None:
    repository.commit({"skills/pdf/SKILL.md": skill_text("pdf", "One.")})
    copy = put(user_home / ".agents/skills/pdf", skill_text("pdf", "One."))
    link = user_home / ".claude/skills/pdf"
    link.parent.mkdir(parents=True)
    link.symlink_to("../../.agents/skills/pdf")
    put(user_home / ".agents/skills/own", skill_text("own"))
    entry = {
        "source": "team/skills",
        "sourceType": "git",
        "sourceUrl": repository.url,
        "skillPath": "skills/pdf/SKILL.md",
        "skillFolderHash": "0" * 40,
    }
    lock = {"version": 3, "skills": {"pdf": entry}, "dismissed": {}}
    (user_home / ".agents/.skill-lock.json").write_text(json.dumps(lock))
    before = (copy / "SKILL.md").stat()
    adopted = installer.adopt(tmp_path)
    assert [(skill.name, skill.git_url) for skill in adopted] == [("pdf", repository.url)]
    assert ([path.name for path in adopted.approved], adopted.left_out) == (["own"], ())
    after = (copy / "SKILL.md").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    [check] = installer.verify()
    assert (check.intact, check.strays) == (True, ())
    assert not installer.outdated()[0].outdated
    repository.commit({"skills/pdf/SKILL.md": skill_text("pdf", "Two.")})
    assert installer.outdated()[0].outdated
    installer.update("pdf")
    assert "Two." in (link / "SKILL.md").read_text()
    assert not installer.adopt(tmp_path)


def test_what_gh_skill_wrote_into_a_header_says_where_it_came_from(
    installer: SkillInstaller, repository: Repository, user_home: Path, tmp_path: Path, person: Person
) -> None:
    repository.commit({"skills/pdf/SKILL.md": skill_text("pdf")})
    fields = {"repo": repository.url, "ref": "refs/heads/main", "path": "skills/pdf", "tree-sha": "0" * 40}
    nested = "".join(f"\n  github-{key}: {value}" for key, value in fields.items())
    put(user_home / ".claude/skills/pdf", skill_text("pdf", metadata=nested))
    [skill] = installer.adopt(tmp_path)
    assert (skill.git_url, skill.branch, skill.subpath) == (repository.url, "main", "skills/pdf")
    assert any("added fields to SKILL.md" in note for note in person.last.offers[0].notes)
    installer.update("pdf")
    text = (user_home / ".claude/skills/pdf/SKILL.md").read_text()
    assert text == skill_text("pdf")
    assert installer.registry.get("pdf").revision is not None


def zipped(text: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("SKILL.md", text)
    return data.getvalue()


def release(server: FileServer, version: str, text: str) -> None:
    page = {"skill": {"slug": "pdf"}, "latestVersion": {"version": version}, "owner": {"handle": "ada"}}
    server.files["/api/v1/skills/pdf?ownerHandle=ada"] = json.dumps(page).encode()
    server.files[f"/api/v1/download?slug=pdf&ownerHandle=ada&version={version}"] = zipped(text)


def test_what_clawhub_installed_is_adopted_and_its_registry_asked_for_more(
    installer: SkillInstaller, user_home: Path, tmp_path: Path
) -> None:
    with FileServer() as server:
        release(server, "1.0.0", skill_text("pdf", "One."))
        folder = put(user_home / ".openclaw/skills/pdf", skill_text("pdf", "One."))
        origin = {"version": 1, "registry": server.url, "slug": "pdf", "ownerHandle": "ada"}
        (folder / ".clawhub").mkdir()
        (folder / ".clawhub/origin.json").write_text(json.dumps({**origin, "installedVersion": "1.0.0"}))
        before = tree_digest(folder)
        [skill] = installer.adopt(tmp_path)
        assert (skill.source, skill.revision) == (ClawHubSource("pdf", "ada", registry=server.url), "1.0.0")
        assert tree_digest(folder) == before
        assert not installer.outdated()[0].outdated
        release(server, "1.1.0", skill_text("pdf", "Two."))
        assert installer.outdated()[0].outdated
        installer.update("pdf")
        assert "Two." in (folder / "SKILL.md").read_text()
        blocked = {"latestVersion": {"version": "1.2.0"}, "moderation": {"isMalwareBlocked": True}}
        server.files["/api/v1/skills/pdf?ownerHandle=ada"] = json.dumps(blocked).encode()
        assert "malware" in installer.outdated()[0].error


def test_a_lock_of_apm_is_restored_at_its_commits_and_the_rest_is_named(
    installer: SkillInstaller, repository: Repository, tmp_path: Path, person: Person
) -> None:
    text = skill_text("pdf")
    wanted = repository.commit(
        {"kit/skills/pdf/SKILL.md": text, "kit/skills/xls/SKILL.md": skill_text("xls")}
    )
    repository.commit({"kit/skills/pdf/SKILL.md": skill_text("pdf", "Later.")})
    digest = hashlib.sha256(text.encode()).hexdigest()
    lock = tmp_path / "apm.lock.yaml"
    lock.write_text(
        f"""lockfile_version: '1'
dependencies:
- repo_url: {repository.url}
  resolved_commit: {wanted}
  resolved_ref: main
  virtual_path: kit
  deployed_files:
  - .agents/skills/pdf
  - .agents/skills/pdf/SKILL.md
  - .claude/skills/pdf/SKILL.md
  - .agents/skills/xls/SKILL.md
  - .github/agents/a.agent.md
  deployed_file_hashes:
    .agents/skills/pdf/SKILL.md: sha256:{digest}
    .agents/skills/xls/SKILL.md: sha256:{"0" * 64}
- repo_url: _local/mine
  deployed_files:
  - .agents/skills/mine/SKILL.md
"""
    )
    assert find_lock(tmp_path) == lock
    changed = installer.sync(lock)
    assert [(skill.name, skill.revision, skill.source.follows) for skill in changed] == [
        ("pdf", wanted, "main")
    ]
    assert "1 file compared" in " ".join(person.last.offers[0].notes)
    assert {left.path for left in changed.left_out} == {"xls", "mine"}
    assert [*installer.sync(lock)] == []
    installer.update("pdf")
    assert installer.registry.get("pdf").revision != wanted


@pytest.mark.skipif(not APM.is_dir(), reason="the collection of real locks is not beside the project")
def test_every_real_lock_of_apm_is_read(tmp_path: Path) -> None:
    for path in APM.glob("*.yaml"):
        skills, left_out = read_apm_lock(path)
        assert skills or left_out
