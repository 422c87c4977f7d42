"""Which sandbox is taken, what its self-test proves, and what is said where none holds."""

import logging
import os

import pytest

from skillkit.core.digest_memo import DigestMemo
from skillkit.scripts import Grants, Limits, LocalRunner, Outcome, ScriptRequest
from skillkit.scripts.sandbox import seccomp
from skillkit.scripts.sandbox.bubblewrap import Bubblewrap
from skillkit.scripts.sandbox.landlock import Landlock
from skillkit.scripts.sandbox.supervised import NoSandbox
from skillkit.scripts.selection import SANDBOXES, NoSandboxError, SandboxSelection
from skillkit.scripts.self_test import self_test


def test_without_a_sandbox_only_what_the_user_allowed_is_run(workshop, monkeypatch):
    workshop.skill("demo", tell_py="print(1)")
    monkeypatch.setenv("SKILLKIT_SANDBOX", "none")
    answer = workshop.tools().script_run("demo", "tell")
    assert answer["error"] == "permission_denied"
    assert "unsandboxed" in answer["message"]
    allowed = workshop.tools(Grants(unsandboxed=True)).script_run("demo", "tell")
    assert (allowed["result"], allowed["meta"]["backend"]) == (1, "none")


def test_an_allowance_to_run_unsandboxed_does_not_take_the_sandbox_away(workshop, confining):
    workshop.skill("demo", tell_py="print(1)")
    answer = workshop.tools(Grants(unsandboxed=True)).script_run("demo", "tell")
    assert answer["meta"]["backend"] in ("bwrap", "landlock")


def test_a_wrong_setting_is_refused_and_named(workshop, monkeypatch):
    monkeypatch.setenv("SKILLKIT_SANDBOX", "docker")
    workshop.skill("demo", tell_py="print(1)")
    answer = workshop.tools(Grants(unsandboxed=True)).script_run("demo", "tell")
    assert answer["error"] == "permission_denied"
    assert "SKILLKIT_SANDBOX=docker is not one of auto, bwrap, landlock" in answer["message"]


def test_a_backend_that_was_asked_for_and_does_not_work_is_not_replaced(workshop, monkeypatch):
    monkeypatch.setenv("SKILLKIT_SANDBOX", "sandbox-exec")
    workshop.skill("demo", tell_py="print(1)")
    answer = workshop.tools(Grants(unsandboxed=True)).script_run("demo", "tell")
    assert answer["error"] == "permission_denied"
    assert "sandbox-exec: it needs macOS" in answer["message"]


def test_the_self_test_is_remembered_for_the_machine_and_repeated_when_it_changes(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    first = SandboxSelection(tmp_path).report()
    tested = [record.message for record in caplog.records if record.message.startswith("Sandbox ")]
    caplog.clear()
    again = SandboxSelection(tmp_path)
    assert again.report() == first
    assert not [record for record in caplog.records if record.message.startswith("Sandbox ")]
    remembered = (tmp_path / "sandbox.json").read_text()
    (tmp_path / "sandbox.json").write_text(remembered.replace(os.uname().release, "another kernel"))
    SandboxSelection(tmp_path).report()
    retested = [record.message for record in caplog.records if record.message.startswith("Sandbox ")]
    assert retested == tested
    again.forget()
    assert not (tmp_path / "sandbox.json").exists()


def test_a_failed_self_test_is_tried_again_and_not_kept_on_disk(tmp_path, monkeypatch):
    """A busy machine or a limit of one shell says nothing about the next process."""
    if reason := SandboxSelection(tmp_path).reason(Landlock()):
        pytest.skip(f"landlock: {reason}")
    file = tmp_path / "sandbox.json"
    file.write_text(file.read_text().replace("null", '"bwrap failed with exit code 137"'))
    assert SandboxSelection(tmp_path).reason(Landlock()) is None
    file.unlink()
    verdicts = ["no memory today"]
    tests = "skillkit.scripts.selection.self_test"
    monkeypatch.setattr(tests, lambda backend: verdicts.pop() if verdicts else None)
    selection = SandboxSelection(tmp_path, "landlock")
    with pytest.raises(NoSandboxError, match="no memory today"):
        selection.choose()
    assert "landlock" not in file.read_text()
    with pytest.raises(NoSandboxError, match="no memory today"):
        selection.choose()
    monkeypatch.setattr("skillkit.scripts.selection._TRY_AGAIN", 0.0)
    selection.forget()
    verdicts.append("no memory today")
    with pytest.raises(NoSandboxError):
        selection.choose()
    assert selection.choose().name == "landlock"
    assert SandboxSelection(tmp_path, "landlock").choose().name == "landlock"


@pytest.fixture
def added_sandboxes(tmp_path, monkeypatch):
    """An installed package with two sandboxes, of which one cannot be imported."""
    metadata = tmp_path / "walls-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: walls\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[skillkit.sandboxes]\nwalls = walls:Walls\nbroken = walls_absent:Walls\n"
    )
    (tmp_path / "walls.py").write_text(
        "from skillkit.scripts.sandbox.landlock import Landlock\nclass Walls(Landlock):\n    name = 'walls'\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    SANDBOXES.__dict__.pop("_added", None)  # remembered for the life of a program
    yield
    SANDBOXES.__dict__.pop("_added", None)


@pytest.mark.usefixtures("added_sandboxes")
def test_a_package_adds_a_sandbox_by_name(workshop, caplog):
    if reason := Landlock().missing():
        pytest.skip(f"landlock: {reason}")
    workshop.skill("demo", tell_py="print(1)")
    answer = workshop.tools(sandbox="walls").script_run("demo", "tell")
    assert (answer.get("result"), answer["meta"]["backend"]) == (1, "walls"), answer
    assert workshop.tools(sandbox="auto").script_run("demo", "tell")["meta"]["backend"] != "walls"
    assert SandboxSelection(workshop.home).report()["walls"] == ""
    assert "Update or remove the package walls" in caplog.text


def test_a_damaged_memory_of_self_tests_is_made_anew(tmp_path):
    (tmp_path / "sandbox.json").write_text("[not json")
    assert "bwrap" in SandboxSelection(tmp_path).report()


class Leaky:
    """A backend that claims to hold and does not."""

    name = "leaky"
    confines = True
    mounts = False

    def __init__(self):
        self._inner = NoSandbox()
        self.missing, self.identity, self.work_folder, self.start = (
            self._inner.missing,
            self._inner.identity,
            self._inner.work_folder,
            self._inner.start,
        )


def test_a_backend_that_does_not_hold_fails_its_self_test():
    assert "a script can read a file" in (self_test(Leaky()) or "")


def test_a_hole_for_unix_sockets_fails_the_self_test(monkeypatch):
    if reason := Landlock().missing():
        pytest.skip(f"landlock: {reason}")
    monkeypatch.setattr(seccomp, "_sockets", lambda families, types: [seccomp._ALLOWED])
    seccomp.build_filter.cache_clear()
    try:
        assert self_test(Landlock()) == "a script can send to a unix socket"
    finally:
        seccomp.build_filter.cache_clear()


@pytest.mark.parametrize("backend", [Bubblewrap(), Landlock()], ids=lambda backend: backend.name)
def test_a_machine_without_the_means_says_which(backend, monkeypatch, tmp_path):
    monkeypatch.setattr("skillkit.scripts.sandbox.seccomp.supported", lambda: False)
    monkeypatch.setattr("skillkit.scripts.sandbox.bubblewrap._program", lambda name: "/usr/bin/" + name)
    assert backend.missing() == "no seccomp filter is available for this architecture"


def test_no_bubblewrap_and_an_old_kernel_are_said(monkeypatch, tmp_path):
    monkeypatch.setattr("skillkit.scripts.sandbox.bubblewrap._program", lambda name: None)
    monkeypatch.setattr("skillkit.scripts.sandbox.landlock._version", lambda: 3)
    selection = SandboxSelection(tmp_path, "auto")
    assert selection.report() == {
        "bwrap": "the program bwrap is not installed (package bubblewrap)",
        "landlock": "the kernel must have Landlock version 6 or newer; it has version 3",
        "sandbox-exec": "it needs macOS",
    }
    runner = LocalRunner(tmp_path)
    runner.sandbox = selection
    result = runner.run(ScriptRequest("demo", tmp_path, "", "scripts/x.py"))
    runner.close()
    assert result.outcome is Outcome.REFUSED
    assert "No sandbox holds scripts on this machine (bwrap: the program bwrap" in result.message
    assert selection.choose(unsandboxed=True).name == "none"


def test_a_sandbox_that_breaks_after_its_self_test_says_so_and_is_tested_again(workshop):
    if reason := SandboxSelection(workshop.home / "cache").reason(Bubblewrap()):
        pytest.skip(f"bwrap: {reason}")
    workshop.skill("demo", tell_py="print(1)")
    tools = workshop.tools(Grants(), sandbox="bwrap")
    runner = workshop.runners[-1]
    assert tools.script_run("demo", "tell")["success"]
    base = workshop.folder / "demo"
    impossible = Limits(work_size=-1)
    digest = DigestMemo().with_links(base).digest
    request = ScriptRequest("demo", base, digest, "scripts/tell.py", limits=impossible)
    result = runner.run(request)
    assert result.outcome is Outcome.BROKEN
    assert "before the script started" in result.message
    assert tools.script_run("demo", "tell")["success"]
