"""Files that change after they were approved: what runs are the bytes of the digest, or nothing."""

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from skillkit.core.authority import DefaultAuthority, Requester
from skillkit.core.digest_memo import DigestMemo
from skillkit.core.models import SkillMetadata
from skillkit.scripts import Grants, LocalRunner, ScriptRequest, ScriptResult, ScriptTools


@dataclass
class Interposed:
    """A runner between whose approval and start something happens, as in a long queue."""

    inner: LocalRunner
    happens: Callable[[], object]

    def run(self, request: ScriptRequest) -> ScriptResult:
        self.happens()
        return self.inner.run(request)

    async def arun(self, request: ScriptRequest) -> ScriptResult:
        self.happens()
        return await self.inner.arun(request)


@dataclass
class OneDigest(DefaultAuthority):
    """Grants the network to one tree and nothing to any other."""

    digest: str

    def grants(self, skill: SkillMetadata, digest: str, requester: Requester) -> Grants:
        return Grants(network=digest == self.digest)


def test_a_script_that_changed_while_it_waited_is_not_run(workshop, backend):
    # No earlier run has left a copy of these bytes, from which this one could still be served.
    base = workshop.skill("demo", tell_py=f"print('\"approved {uuid4().hex}\"')")
    workshop.tools(sandbox=backend)
    runner = workshop.runners[-1]
    changes = Interposed(runner, lambda: (base / "scripts" / "tell.py").write_text("print('\"other\"')"))
    answer = ScriptTools(workshop.manager(), changes, GrantEverything()).script_run("demo", "tell")
    assert answer["error"] == "permission_denied"
    assert "changed after this run was approved" in answer["message"]


class GrantEverything(DefaultAuthority):
    def grants(self, skill: SkillMetadata, digest: str, requester: Requester) -> Grants:
        return Grants(network=True, unsandboxed=True)


WAITS = """
    import json, pathlib, sys, time
    shared = pathlib.Path(sys.argv[1])
    open(shared / "started", "w").close()
    while not (shared / "go").exists():
        time.sleep(0.01)
    import near
    print(json.dumps(near.VALUE))
"""


def test_a_module_that_changes_while_the_script_runs_is_imported_as_approved(workshop, confining):
    base = workshop.skill("demo", tell_py=WAITS, near_py="VALUE = 'approved'")
    shared = workshop.folder / "shared"
    shared.mkdir()
    shared.chmod(0o777)

    def change() -> None:
        while not (shared / "started").exists():
            threading.Event().wait(0.01)
        (base / "scripts" / "near.py").write_text("VALUE = 'other'")
        (shared / "go").touch()

    thread = threading.Thread(target=change)
    thread.start()
    tools = workshop.tools(Grants(write_paths=(shared,)), sandbox=confining)
    answer = tools.script_run("demo", "tell", [str(shared)])
    (shared / "started").touch()
    thread.join()
    assert answer.get("result") == "approved", answer


def test_a_granted_folder_around_the_skill_does_not_uncover_its_files(workshop, confining):
    """The script could otherwise rewrite what it imports next."""
    base = workshop.skill("demo", tell_py="open(__file__, 'a')")
    (base / "scripts" / "tell.py").chmod(0o666)
    tools = workshop.tools(Grants(write_paths=(workshop.folder,)), sandbox=confining)
    message = tools.script_run("demo", "tell")["message"]
    assert "Read-only file system" in message or "Permission denied" in message


class RemovesTheSkill(DefaultAuthority):
    """Approves a tree that is moved away in the same moment."""

    def grants(self, skill: SkillMetadata, digest: str, requester: Requester) -> Grants:
        skill.base_dir.rename(skill.base_dir.with_name("moved"))
        return Grants()


def test_a_skill_that_is_gone_after_it_was_approved_is_an_answer_and_no_exception(workshop, confining):
    workshop.skill("demo", tell_py="print(1)")
    workshop.tools(sandbox=confining)
    tools = ScriptTools(workshop.manager(), workshop.runners[-1], RemovesTheSkill())
    answer = tools.script_run("demo", "tell")
    assert answer["error"] == "permission_denied"
    assert "changed after this run was approved" in answer["message"]


def test_renaming_two_trees_over_each_other_never_runs_one_with_the_grants_of_the_other(workshop, confining):
    code = "import json, socket\ntry:\n socket.socket()\n network = True\nexcept OSError:\n network = False\n"
    base = workshop.skill("demo", tell_py=f"{code}print(json.dumps(['approved', network]))")
    other = workshop.folder / "other"
    approved = DigestMemo().with_links(base).digest
    other.mkdir()
    (other / "scripts").mkdir()
    (other / "SKILL.md").write_bytes((base / "SKILL.md").read_bytes())
    (other / "scripts" / "tell.py").write_text(f"{code}print(json.dumps(['other', network]))")
    workshop.tools(sandbox=confining)
    tools = ScriptTools(workshop.manager(), workshop.runners[-1], OneDigest(approved))
    stop = threading.Event()
    thread = threading.Thread(target=_swap, args=(base, other, stop))
    thread.start()
    try:
        answers = [tools.script_run("demo", "tell") for _ in range(25)]
    finally:
        stop.set()
        thread.join()
    ran = [tuple(answer["result"]) for answer in answers if answer["success"]]
    assert set(ran) <= {("approved", True), ("other", False)}


def _swap(base: Path, other: Path, stop: threading.Event) -> None:
    aside = base.with_name("aside")
    while not stop.is_set():
        with contextlib.suppress(OSError):
            base.rename(aside)
            other.rename(base)
            aside.rename(other)


@pytest.mark.this_machine
def test_a_copy_that_was_tampered_with_is_made_again(workshop):
    workshop.skill("demo", tell_py="print('\"approved\"')")
    tools = workshop.tools()
    assert tools.script_run("demo", "tell")["result"] == "approved"
    digest = DigestMemo().with_links(workshop.folder / "demo").digest
    copy = workshop.home / "trees" / digest.replace(":", "-") / "tree" / "scripts" / "tell.py"
    copy.chmod(0o644)
    copy.write_text("print('\"other\"')")
    assert tools.script_run("demo", "tell")["result"] == "approved"
    assert workshop.tools().script_run("demo", "tell")["result"] == "approved"


@pytest.mark.this_machine
def test_copies_that_nobody_uses_make_space_for_new_ones(workshop, monkeypatch):
    monkeypatch.setattr("skillkit.core.pinned_trees.KEPT_TREES", 3)
    for number in range(6):
        workshop.skill("demo", tell_py=f"print({number})")
        assert workshop.tools().script_run("demo", "tell")["result"] == number
    assert len(list((workshop.home / "trees").iterdir())) <= 3


def test_a_home_that_cannot_be_written_does_not_keep_a_script_from_running(workshop, monkeypatch):
    workshop.skill("demo", tell_py="print(1)")
    tools = workshop.tools()
    assert tools.script_run("demo", "tell")["success"]
    monkeypatch.setattr("skillkit.core.pinned_trees.os.access", lambda path, mode: False)
    assert tools.script_run("demo", "tell")["result"] == 1
