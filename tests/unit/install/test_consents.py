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
