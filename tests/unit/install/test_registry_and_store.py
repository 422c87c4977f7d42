"""registry.json: mended when damaged, left alone when newer, and never half believed."""

import hashlib
import json
import os
import stat
from pathlib import Path

import pytest
from skill_repositories import skill_text

from skillkit.core.digest import tree_digest
from skillkit.core.disk import locked, remove_tree
from skillkit.core.exceptions import (
    ContentLoadError,
    SizeLimitExceededError,
    SkillSecurityError,
    StateFileError,
)
from skillkit.install.exceptions import NotInstalledError, RegistryError
from skillkit.install.installer import SkillInstaller
from skillkit.install.record import InstalledSkill
from skillkit.install.registry import InstallRegistry


def write(folder: Path, name: str) -> str:
    path = folder / name
    path.mkdir(parents=True)
    (path / "SKILL.md").write_text(skill_text(name))
    return str(path)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    installer = SkillInstaller(home, consent=lambda proposal: True)
    installer.add(write(tmp_path, "one"))
    installer.add(write(tmp_path, "two"))
    return home


def registry_file(home: Path) -> Path:
    return home / "skills" / "registry.json"


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"version": 1}',
        b'{"version": true, "skills": {}}',
        b"\xff\xfe",
        b"[" * 50_000,
    ],
)
def test_a_damaged_registry_is_kept_aside_and_rebuilt_from_the_store(damage: bytes, home: Path) -> None:
    registry_file(home).write_bytes(damage)
    registry = InstallRegistry(home)
    skills = registry.list()
    assert [skill.name for skill in skills] == ["one", "two"]
    assert not any(skill.trusted for skill in skills), "trust is not recovered by guessing"
    assert (home / "skills" / "registry.json.damaged-1").read_bytes() == damage
    assert "registry.json.damaged-1" in registry.notices[0]
    again = InstallRegistry(home)
    assert again.list() == skills
    assert again.notices == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "../../x"),
        ("digest", "md5:1"),
        ("stored", "/etc"),
        ("files", []),
        ("installed_at", 5),
        ("name_canonical", "other"),
    ],
)
def test_a_record_that_cannot_be_ours_damages_the_whole_file(field: str, value: object, home: Path) -> None:
    data = json.loads(registry_file(home).read_text())
    data["skills"]["one"][field] = value
    registry_file(home).write_text(json.dumps(data))
    registry = InstallRegistry(home)
    assert [skill.name for skill in registry.list()] == ["one", "two"]
    assert registry.notices


def test_a_lost_registry_is_rebuilt_from_the_links(home: Path) -> None:
    registry_file(home).unlink()
    registry = InstallRegistry(home)
    assert [skill.name for skill in registry.list()] == ["one", "two"]
    assert "missing" in registry.notices[0]


def clone(home: Path, name: str) -> dict[str, object]:
    """A skill as it was installed before there was a store, and its record."""
    folder = home / "skills" / name
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text("[core]\n")
    (folder / "SKILL.md").write_text(skill_text(name))
    return {
        "name": name,
        "name_canonical": name.lower().replace("_", "-"),
        "git_url": f"https://git.example/{name}.git",
        "commit_sha": "c" * 40,
        "branch": "main",
        "tag": None,
        "installed_path": str(folder),
        "trusted": True,
        "installed_at": "2025-11-20T10:00:00",
    }


FORMS = [dict, lambda records: {"skills": dict(records)}, lambda records: [record for _, record in records]]


@pytest.mark.parametrize("form", FORMS)
def test_a_registry_of_an_older_form_is_carried_over(form, tmp_path: Path) -> None:
    pdf, csv = clone(tmp_path, "pdf"), clone(tmp_path, "My_CSV")
    text = json.dumps(form([("pdf", pdf), ("my-csv", csv)]))
    registry_file(tmp_path).write_text(text)
    registry = InstallRegistry(tmp_path)
    one, two = registry.list()
    assert (one.name, two.name, two.name_canonical) == ("My_CSV", "pdf", "pdf")
    assert (two.git_url, two.commit_sha, two.branch) == (pdf["git_url"], "c" * 40, "main")
    assert two.installed_at == pdf["installed_at"]
    assert list(two.files) == ["SKILL.md"], "what git needs is no part of the skill"
    assert not one.trusted, "a trust that was bound to no bytes is not believed"
    assert "Carried over 2 of 2" in registry.notices[0]
    assert os.readlink(tmp_path / "skills" / "pdf").startswith("../store/")
    assert (tmp_path / "skills" / "pdf" / "SKILL.md").read_text() == skill_text("pdf")
    assert (tmp_path / "carried-over" / "pdf" / ".git" / "config").is_file()
    assert (tmp_path / "skills" / "registry.json.older-1").read_text() == text
    again = InstallRegistry(tmp_path)
    assert again.list() == [one, two]
    assert again.notices == []


def test_what_an_older_registry_cannot_give_stays_where_it_is(tmp_path: Path) -> None:
    by_hand = {**clone(tmp_path, "by-hand"), "git_url": None}
    linked = clone(tmp_path, "linked")
    (tmp_path / "skills" / "linked" / "secret").symlink_to("/etc/passwd")
    empty = clone(tmp_path, "empty")
    (tmp_path / "skills" / "empty" / "SKILL.md").unlink()
    gone = {**clone(tmp_path, "gone"), "installed_path": str(tmp_path / "skills" / "nowhere")}
    outside = {**clone(tmp_path / "other", "outside"), "name": "outside"}
    records = [by_hand, linked, empty, gone, outside, {**gone, "name": "../x"}]
    registry_file(tmp_path).write_text(json.dumps(records))
    registry = InstallRegistry(tmp_path)
    assert registry.list() == []
    assert "Carried over 0 of 6" in registry.notices[0]
    assert not (tmp_path / "carried-over").exists()
    assert (tmp_path / "skills" / "by-hand" / "SKILL.md").is_file()
    assert (tmp_path / "skills" / "linked" / "secret").is_symlink()
    assert (tmp_path / "other" / "skills" / "outside" / "SKILL.md").is_file()


def test_carrying_over_that_was_interrupted_is_done_again(tmp_path: Path) -> None:
    records = [clone(tmp_path, "pdf"), clone(tmp_path, "csv")]
    registry_file(tmp_path).write_text(json.dumps(records))
    (tmp_path / "carried-over").mkdir()
    os.rename(tmp_path / "skills" / "pdf", tmp_path / "carried-over" / "pdf")
    assert [skill.name for skill in InstallRegistry(tmp_path).list()] == ["csv", "pdf"]
    assert (tmp_path / "skills" / "pdf" / "SKILL.md").is_file()


def test_skills_are_listed_by_canonical_name_whatever_their_order_in_the_file(home: Path) -> None:
    data = json.loads(registry_file(home).read_text())
    data["skills"] = dict(reversed(data["skills"].items()))
    registry_file(home).write_text(json.dumps(data))
    assert [skill.name_canonical for skill in InstallRegistry(home).list()] == ["one", "two"]


def test_a_skill_is_looked_up_in_any_spelling(tmp_path: Path) -> None:
    installer = SkillInstaller(tmp_path / "home", consent=lambda proposal: True)
    (added,) = installer.add(write(tmp_path, "My_Skill-2"))
    registry = InstallRegistry(tmp_path / "home")
    for spelling in ("my-skill-2", "My_Skill-2", "MY-SKILL_2", "my_skill_2"):
        assert registry.get(spelling) == added
    assert (added.name, added.name_canonical) == ("My_Skill-2", "my-skill-2")
    with pytest.raises(NotInstalledError, match="Installed: my-skill-2"):
        registry.get("myskill2")


def test_what_cannot_be_recovered_is_left_out_and_the_rest_survives(home: Path) -> None:
    [one, _] = InstallRegistry(home).list()
    (home / "store" / f"{one.stored}.json").write_text("garbage")
    registry_file(home).write_text("garbage")
    assert [skill.name for skill in InstallRegistry(home).list()] == ["two"]


def test_a_registry_of_a_newer_skillkit_is_left_as_it_is(home: Path) -> None:
    registry_file(home).write_text('{"version": 99, "skills": "?"}')
    with pytest.raises(RegistryError, match="newer"):
        InstallRegistry(home).list()
    assert registry_file(home).read_text() == '{"version": 99, "skills": "?"}'


def test_an_exception_inside_a_transaction_changes_nothing(home: Path) -> None:
    before = registry_file(home).read_bytes()

    def interrupted() -> None:
        with InstallRegistry(home).transaction() as state:
            state.skills.clear()
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        interrupted()
    assert registry_file(home).read_bytes() == before


def test_records_survive_a_round_trip_and_are_private(home: Path) -> None:
    for skill in InstallRegistry(home).list():
        written = json.loads(json.dumps(skill.to_data()))
        assert InstalledSkill.from_data(written, {skill.digest}) == skill
        assert not InstalledSkill.from_data(written).trusted, "what the record says of itself is no consent"
    assert stat.S_IMODE(registry_file(home).stat().st_mode) == 0o600
    data = json.loads(registry_file(home).read_text())["skills"]["one"]
    wanted = "name name_canonical git_url commit_sha branch tag installed_path trusted installed_at"
    assert set(f"{wanted} subpath digest files trusted_digest".split()) <= data.keys()


def test_what_a_record_says_of_trust_is_no_consent(home: Path) -> None:
    registry = InstallRegistry(home)
    assert [skill.trusted for skill in registry.list()] == [True, True]
    registry.consents.revoke(where=lambda each: True)
    data = json.loads(registry_file(home).read_text())
    assert data["skills"]["one"]["trusted"] is True
    assert [skill.trusted for skill in registry.list()] == [False, False]
    assert [skill.trusted for skill in InstallRegistry(home).list()] == [False, False]


def test_links_that_were_deleted_or_bent_are_mended_at_the_next_look(home: Path, tmp_path: Path) -> None:
    (home / "skills" / "one").unlink()
    (home / "skills" / "two").unlink()
    (home / "skills" / "two").symlink_to(tmp_path)
    (home / "skills" / "stray").symlink_to("../store/" + "0" * 64 + "/stray")
    InstallRegistry(home).list()
    assert (home / "skills" / "one" / "SKILL.md").is_file()
    assert not os.path.lexists(home / "skills" / "stray")
    assert os.readlink(home / "skills" / "two") == str(tmp_path), "what others put there is left alone"


def test_an_empty_home_has_no_skills_and_stays_empty(tmp_path: Path) -> None:
    assert InstallRegistry(tmp_path / "fresh").list() == []
    assert not (tmp_path / "fresh").exists()


def test_a_registry_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    (tmp_path / "skills" / "registry.json").mkdir(parents=True)
    with pytest.raises(RegistryError, match="Cannot read"):
        InstallRegistry(tmp_path).list()


def test_waiting_for_the_lock_is_announced(tmp_path: Path) -> None:
    import threading

    waiting = threading.Event()
    done: list[int] = []

    def second() -> None:
        with locked(tmp_path / "lock", waiting.set):
            done.append(2)

    with locked(tmp_path / "lock"):
        thread = threading.Thread(target=second)
        thread.start()
        assert waiting.wait(30)
        done.append(1)
    thread.join()
    assert done == [1, 2]


def test_deleting_a_tree_deletes_links_and_not_what_they_lead_to(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("x")
    tree = tmp_path / "tree"
    (tree / "inner").mkdir(parents=True)
    (tree / "inner" / "link").symlink_to(precious)
    (tree / "inner").chmod(0o500)
    remove_tree(tree)
    assert not tree.exists()
    assert (precious / "file").exists()
    remove_tree(tree)


# Digests


def test_the_digest_covers_names_bytes_and_the_executable_bit(tmp_path: Path) -> None:
    folder = tmp_path / "tree"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "a").write_text("1")
    first = tree_digest(folder)
    inner = hashlib.sha256(b"1").hexdigest()
    assert (
        first.digest
        == f"sha256:{hashlib.sha256(f'inner/a{chr(0)}-{chr(0)}{inner}{chr(10)}'.encode()).hexdigest()}"
    )
    (folder / "inner" / "a").chmod(0o755)
    assert tree_digest(folder).digest != first.digest
    (folder / "inner" / "a").chmod(0o644)
    (folder / "inner" / "a").rename(folder / "inner" / "b")
    assert tree_digest(folder).digest != first.digest
    assert tree_digest(folder).files["inner/b"].size == 1


def test_the_digest_refuses_links_special_files_and_too_much(tmp_path: Path) -> None:
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "a").write_text("12345")
    with pytest.raises(SizeLimitExceededError):
        tree_digest(folder, max_bytes=4)
    with pytest.raises(SizeLimitExceededError):
        tree_digest(folder, max_files=0)
    (folder / "link").symlink_to("a")
    with pytest.raises(SkillSecurityError):
        tree_digest(folder)
    (folder / "link").unlink()
    os.mkfifo(folder / "pipe")
    with pytest.raises(SkillSecurityError):
        tree_digest(folder)
    with pytest.raises(ContentLoadError):
        tree_digest(tmp_path / "missing")


def test_a_damaged_registry_keeps_earlier_versions_and_the_trash(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "pdf"
    installer = SkillInstaller(home, consent=lambda proposal: True)
    installer.add(write(tmp_path, "pdf"))
    for body in ("Two.", "Three."):
        (folder / "SKILL.md").write_text(skill_text("pdf", body=body))
        installer.update("pdf")
    installer.add(write(tmp_path, "gone"))
    installer.remove("gone")
    digests = [version.digest for version in installer.registry.get("pdf").previous]
    registry_file(home).write_text("{")
    [pdf] = SkillInstaller(home).list()
    assert {version.digest for version in pdf.previous} == set(digests)
    again = SkillInstaller(home, consent=lambda proposal: True)
    assert again.rollback("gone").name == "gone"
    assert again.rollback("pdf").digest in digests
    assert not again.registry.get("pdf").trusted


def test_a_lock_that_is_never_let_go_of_names_its_holder(tmp_path: Path) -> None:
    lock = tmp_path / "some.lock"
    held = f"held by the process {os.getpid()}"
    with locked(lock), pytest.raises(StateFileError, match=held), locked(lock, patience=0.0):
        raise AssertionError("two owners")
    with locked(lock, patience=0.0):
        assert lock.read_text() == f"{os.getpid()}\n"


def test_fields_of_another_release_survive_a_write(tmp_path: Path) -> None:
    installer = SkillInstaller(tmp_path / "home", consent=lambda proposal: True)
    (tmp_path / "pdf").mkdir()
    (tmp_path / "pdf" / "SKILL.md").write_text(skill_text("pdf"))
    installer.add(str(tmp_path / "pdf"))
    path = installer.registry.file.path
    data = json.loads(path.read_text())
    data["later"] = {"a": 1}
    data["skills"]["pdf"]["later"] = [1]
    path.write_text(json.dumps(data))
    with installer.registry.transaction() as state:
        state.selection = "pdf"
    written = json.loads(path.read_text())
    assert (written["later"], written["skills"]["pdf"]["later"], written["selection"]) == (
        {"a": 1},
        [1],
        "pdf",
    )


def test_what_others_put_into_the_store_stays(tmp_path: Path) -> None:
    registry = InstallRegistry(tmp_path / "home")
    foreign = registry.store.root / "notes" / "mine.txt"
    foreign.parent.mkdir(parents=True)
    foreign.write_text("mine")
    with registry.transaction():
        pass
    assert foreign.read_text() == "mine"


def test_a_home_that_everybody_can_write_is_said(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    registry = InstallRegistry(home)
    registry.consents.load()
    assert registry.notices == []
    home.chmod(0o777)
    registry.consents.load()
    registry.consents.load()
    [notice] = registry.notices
    assert f"chmod o-w {home}" in notice
