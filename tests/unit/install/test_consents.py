"""consents.json: what the user said yes to, whatever happens to the file."""

import json
import os
import stat
from pathlib import Path
from threading import Event, Thread, current_thread

import pytest

from skillkit.core.exceptions import StateFileError
from skillkit.install.consents import Consent, ConsentFile, ConsentKind

USE, RUN, REMOTE = ConsentKind.USE, ConsentKind.RUN, ConsentKind.REMOTE
ONE, TWO = "sha256:1", "sha256:2"


def test_consents_are_bound_to_digests_and_kinds(tmp_path: Path) -> None:
    consents = ConsentFile(tmp_path)
    consents.grant(Consent(USE, ONE, "x", str(tmp_path)))
    assert consents.digests(USE) == {ONE}
    assert consents.digests(RUN) == frozenset(), "a skill that may be used may not run scripts for that"
    [gone] = consents.revoke(where=lambda each: each.digest == ONE)
    assert (gone.skill, gone.place) == ("x", str(tmp_path))
    assert consents.revoke(where=lambda each: each.digest == ONE) == ()
    assert consents.digests(USE) == frozenset()


def test_a_running_program_sees_what_another_one_granted_and_took_back(tmp_path: Path) -> None:
    here, there = ConsentFile(tmp_path), ConsentFile(tmp_path)
    assert here.load() == ()
    there.grant(Consent(RUN, ONE, "x"))
    assert here.digests(RUN) == {ONE}
    there.revoke(where=lambda each: True)
    assert here.digests(RUN) == frozenset()


def test_a_slow_thread_does_not_bring_back_what_was_revoked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One thread has read the file and is held up; meanwhile the consent goes and another thread asks."""
    consents = ConsentFile(tmp_path)
    consents.grant(Consent(USE, ONE, "x"))
    read, gone = Event(), Event()
    reading = ConsentFile._read

    def slowly(file: ConsentFile) -> tuple[Consent, ...]:
        found = reading(file)
        if current_thread().name == "slow":
            read.set()
            gone.wait(10)
        return found

    monkeypatch.setattr(ConsentFile, "_read", slowly)
    slow = Thread(target=consents.digests, args=(USE,), name="slow")
    slow.start()
    assert read.wait(10)
    ConsentFile(tmp_path).revoke(where=lambda each: True)
    assert consents.digests(USE) == frozenset()
    gone.set()
    slow.join()
    assert consents.digests(USE) == frozenset()


def test_a_skill_of_a_server_has_one_consent(tmp_path: Path) -> None:
    consents = ConsentFile(tmp_path)
    for server, digest in (("a", ONE), ("a", TWO), ("b", ONE)):
        consents.grant(Consent(REMOTE, digest, "x", "skill://x", server))
    assert [(each.server, each.digest) for each in consents.load()] == [("b", ONE), ("a", TWO)]


def test_only_the_user_reads_the_file(tmp_path: Path) -> None:
    consents = ConsentFile(tmp_path / "home")
    consents.grant(Consent(USE, ONE, "x"))
    assert stat.S_IMODE(os.stat(consents.file.path).st_mode) == 0o600
    assert sorted(os.listdir(consents.home)) == ["consents.json", "consents.lock"]


DAMAGED = {
    "not JSON": "garbage",
    "cut off": '{"version": 1, "consents": [{"kind": "use", "digest": "sha256:1"',
    "empty": "",
    "no version": '{"consents": []}',
    "another shape": '{"version": 1, "consents": {"sha256:1": true}}',
    "no list": '{"version": 1}',
    "an unknown kind": '{"version": 1, "consents": [{"kind": "all", "digest": "sha256:1", "skill": "x"}]}',
    "no text": '{"version": 1, "consents": [{"kind": "use", "digest": 1, "skill": "x"}]}',
    "no bytes": '{"version": 1, "consents": [{"kind": "use", "digest": "", "skill": "x"}]}',
    "deep": "[" * 100_000,
    "one of two": json.dumps(
        {"version": 1, "consents": [{"kind": "use", "digest": ONE, "skill": "x"}, {"kind": "use"}]}
    ),
}


@pytest.mark.parametrize("text", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_consents_to_nothing_is_kept_and_said_aloud(tmp_path: Path, text: str) -> None:
    (tmp_path / "consents.json").write_text(text)
    said: list[str] = []
    consents = ConsentFile(tmp_path, notice=said.append)
    assert consents.load() == ()
    assert (tmp_path / "consents.json.damaged-1").read_text() == text
    assert len(said) == 1
    assert "consents.json.damaged-1" in said[0]
    consents.grant(Consent(USE, TWO, "x"))
    assert ConsentFile(tmp_path).digests(USE) == {TWO}
    assert len(said) == 1


def test_a_grant_over_a_damaged_file_keeps_it_too(tmp_path: Path) -> None:
    (tmp_path / "consents.json").write_text("garbage")
    said: list[str] = []
    ConsentFile(tmp_path, notice=said.append).grant(Consent(USE, TWO, "x"))
    assert (tmp_path / "consents.json.damaged-1").read_text() == "garbage"
    assert len(said) == 1


def test_a_file_of_a_newer_skillkit_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "consents.json").write_text('{"version": 99, "consents": []}')
    with pytest.raises(StateFileError, match="newer skillkit"):
        ConsentFile(tmp_path).load()
    with pytest.raises(StateFileError, match="newer skillkit"):
        ConsentFile(tmp_path).grant(Consent(USE, ONE, "x"))
    assert "99" in (tmp_path / "consents.json").read_text()


# The four files before there was one

OLDER = {
    "trust.json": {
        "version": 1,
        "digests": {ONE: {"name": "folder", "path": "/project/skills/folder", "granted_at": "2026-01-01"}},
    },
    "approvals.json": {"version": 1, "digests": {TWO: {"skill": "runner", "granted_at": "2026-01-02"}}},
    "mcp-consents.json": {"office": {"skill://a/SKILL.md": "sha256:3"}},
    "skills/registry.json": {
        "version": 1,
        "skills": {
            "pdf": {
                "name": "pdf",
                "digest": "sha256:4",
                "trusted": True,
                "trusted_digest": "sha256:4",
                "previous": [
                    {"name": "pdf", "digest": "sha256:5", "trusted": True, "trusted_digest": "sha256:5"}
                ],
            },
            "edited": {
                "name": "edited",
                "digest": "sha256:6",
                "trusted": False,
                "trusted_digest": "sha256:0",
            },
            "other": {"name": "other", "digest": "sha256:7", "trusted": True, "trusted_digest": "sha256:0"},
        },
        "removed": [
            {"skill": {"name": "gone", "digest": "sha256:8", "trusted": True, "trusted_digest": "sha256:8"}}
        ],
    },
}


@pytest.fixture
def older_home(tmp_path: Path) -> Path:
    (tmp_path / "skills").mkdir()
    for name, content in OLDER.items():
        (tmp_path / name).write_text(json.dumps(content))
    return tmp_path


def test_the_older_files_are_carried_over_once(older_home: Path) -> None:
    consents = ConsentFile(older_home)
    assert consents.digests(USE) == {ONE, "sha256:4", "sha256:5", "sha256:8"}
    assert consents.digests(RUN) == {TWO}
    [remote] = [each for each in consents.load() if each.kind is REMOTE]
    assert (remote.server, remote.place, remote.digest) == ("office", "skill://a/SKILL.md", "sha256:3")
    [folder] = [each for each in consents.load() if each.digest == ONE]
    assert (folder.skill, folder.place, folder.granted_at) == (
        "folder",
        "/project/skills/folder",
        "2026-01-01",
    )
    assert not any(
        (older_home / name).exists() for name in ("trust.json", "approvals.json", "mcp-consents.json")
    )
    consents.revoke(where=lambda each: True)
    assert ConsentFile(older_home).load() == (), "what was revoked does not come back from an older file"


def test_damage_to_the_new_file_does_not_bring_the_older_ones_back(older_home: Path) -> None:
    ConsentFile(older_home).load()
    (older_home / "trust.json").write_text(json.dumps(OLDER["trust.json"]))
    (older_home / "consents.json").write_text("garbage")
    assert ConsentFile(older_home).load() == ()
    assert ConsentFile(older_home).load() == ()


@pytest.mark.parametrize("name", ["trust.json", "approvals.json", "mcp-consents.json"])
@pytest.mark.parametrize(
    "text", ["garbage", "[]", '{"version": 2, "digests": {}, "a": 1}', '{"a": {"b": 1}}']
)
def test_a_damaged_older_file_is_named_and_the_others_count(older_home: Path, name: str, text: str) -> None:
    (older_home / name).write_text(text)
    said: list[str] = []
    consents = ConsentFile(older_home, notice=said.append).load()
    assert len(said) == 1
    assert name in said[0]
    assert (older_home / f"{name}.carried-over").read_text() == text
    assert len(consents) == 5


def test_where_nothing_can_be_written_older_consents_still_count(
    older_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert ConsentFile(older_home).digests(RUN) == {TWO}
    assert not (older_home / "consents.json").exists()
