"""What is granted is given, what is not is refused with a reason, and the result says both."""

import os
import stat
import warnings

import pytest

from skillkit.core.authority import DefaultAuthority, TrustEverySkill
from skillkit.core.availability import Refusal
from skillkit.core.digest_memo import DigestMemo
from skillkit.scripts import Grants, LocalRunner, Outcome, ScriptRequest, ScriptTools

ENVIRONMENT = "import json, os; print(json.dumps(dict(os.environ)))"


def test_only_the_few_and_the_granted_variables_are_passed_on(workshop, monkeypatch):
    for name in ("SECRET_KEY", "KALSHI_API_KEY", "KALSHI_OTHER", "LC_TIME"):
        monkeypatch.setenv(name, f"value of {name}")
    workshop.skill("kalshi", "version: 1.2.3\npermissions:\n  env: [KALSHI_*]", tell_py=ENVIRONMENT)
    tools = workshop.tools(Grants(env=("KALSHI_*",)))
    answer = tools.script_run("kalshi", "tell")
    seen = answer["result"]
    assert seen["KALSHI_API_KEY"] == "value of KALSHI_API_KEY"
    assert "SECRET_KEY" not in seen
    assert seen["LC_TIME"] == "value of LC_TIME"
    assert (seen["SKILL_NAME"], seen["SKILL_VERSION"]) == ("kalshi", "1.2.3")
    assert seen["SKILL_BASE_DIR"] == str(workshop.folder / "kalshi")
    assert seen["HOME"] == seen["TMPDIR"] != os.environ["HOME"]
    assert answer["meta"]["grants"]["env"] == ["KALSHI_API_KEY", "KALSHI_OTHER"]


def test_a_variable_that_is_set_and_asked_for_but_not_granted_is_denied(workshop, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", "secret")
    workshop.skill("demo", "permissions:\n  env: [SECRET_KEY, UNSET_KEY]", tell_py=ENVIRONMENT)
    answer = workshop.tools().script_run("demo", "tell")
    assert answer["error"] == "permission_denied"
    assert answer["message"].startswith("Env var 'SECRET_KEY' not in allowlist")
    withheld = workshop.tools(Grants(withheld_env=("SECRET_*",))).script_run("demo", "tell")
    assert "SECRET_KEY" not in withheld["result"]
    monkeypatch.delenv("SECRET_KEY")
    assert workshop.tools().script_run("demo", "tell")["success"]


def test_everything_asked_for_can_be_granted_at_once(workshop, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", "secret")
    workshop.skill("demo", "permissions:\n  env: [SECRET_KEY]\n  network: true", tell_py=ENVIRONMENT)
    runner = LocalRunner(workshop.home)
    workshop.runners.append(runner)
    answer = ScriptTools(workshop.manager(), runner, TrustEverySkill()).script_run("demo", "tell")
    assert answer["result"]["SECRET_KEY"] == "secret"
    assert answer["meta"]["grants"]["network"] is True


def test_the_script_starts_in_its_own_folder_and_may_import_its_neighbours(workshop, backend):
    base = workshop.skill(
        tell_py="""
        import json, os, near
        print(json.dumps([os.path.relpath(os.getcwd(), os.environ["SKILL_BASE_DIR"]), near.VALUE]))
        """
    )
    (base / "scripts" / "near.py").write_text("VALUE = 'near'")
    tools = workshop.tools(Grants(unsandboxed=True), sandbox=backend)
    answer = tools.script_run("demo", "tell")
    assert answer["result"] == ["scripts", "near"], answer
    assert not (base / "scripts" / "__pycache__").exists()


def test_a_skill_that_was_refused_is_not_run_nor_listed(workshop):
    workshop.skill("demo", tell_py="print(1)")
    workshop.skill("other", tell_py="print(1)")
    manager = workshop.manager()

    class Decided(DefaultAuthority):
        code = "untrusted"

        def offer_refusal(self, skill, requester):
            return Refusal(self.code, "not today") if skill.name == "demo" else None

    manager.authority = Decided()
    runner = LocalRunner(workshop.home)
    workshop.runners.append(runner)
    tools = ScriptTools(manager, runner)
    for answer in (
        tools.script_run("demo", "tell"),
        tools.script_help("demo", "tell"),
        tools.script_list("demo"),
    ):
        assert answer == {"success": False, "error": "permission_denied", "message": "not today"}
    assert list(tools.script_list()["result"]) == ["other"]
    assert tools.script_list()["message"] == "Found 1 script across 1 skill"
    manager.authority.code = "unavailable"
    assert tools.script_run("demo", "tell")["error"] == "dependency_failed"


def test_the_authority_is_asked_for_the_tree_as_it_is_now(workshop):
    base = workshop.skill("demo", tell_py="print(1)")
    tools = workshop.tools()
    tools.script_run("demo", "tell")
    (base / "scripts" / "tell.py").write_text("print(2)")
    assert tools.script_run("demo", "tell")["result"] == 2
    first, second = tools.authority.digests
    assert first != second
    assert first.startswith("sha256:")
    refused = workshop.tools(Grants(run=False, reason="the tree has changed"))
    for answer in (refused.script_run("demo", "tell"), refused.script_help("demo", "tell")):
        assert answer == {"success": False, "error": "permission_denied", "message": "the tree has changed"}
    assert "not allowed" in workshop.tools(Grants(run=False)).script_run("demo", "tell")["message"]


def test_a_tree_with_links_runs_but_is_never_taken_for_an_approved_one(workshop):
    base = workshop.skill("demo", tell_py="print(1)")
    (base / "scripts" / "link.py").symlink_to("/etc/passwd")
    tools = workshop.tools()
    assert tools.script_run("demo", "tell")["success"]
    assert tools.authority.digests[0].startswith("with-links:")
    assert tools.script_run("demo", "link")["error"] == "not_found"
    os.mkfifo(base / "fifo")
    assert tools.script_run("demo", "tell")["error"] == "permission_denied"


@pytest.mark.parametrize("link", ["itself", "parent"])
@pytest.mark.parametrize("grant", ["read_paths", "write_paths"])
def test_a_granted_path_that_became_a_link_is_refused(workshop, backend, link, grant):
    private = workshop.folder / "private"
    (private / "out").mkdir(parents=True)
    project = workshop.folder / "project"
    project.mkdir()
    if link == "itself":
        (project / "out").symlink_to(private / "out")
    else:
        project.rmdir()
        project.symlink_to(private)
    workshop.skill("demo", tell_py="print(1)")
    grants = Grants(unsandboxed=True, **{grant: (project / "out",)})
    answer = workshop.tools(grants, sandbox=backend).script_run("demo", "tell")
    assert answer["error"] == "permission_denied"
    assert "goes through the symbolic link" in answer["message"]
    assert f"grant {private / 'out'}" in answer["message"]


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_shell_script_may_open_its_streams_again(workshop, backend, stream):
    workshop.skill("demo", tell_sh=f"set -e\necho said > /dev/{stream}\necho done")
    answer = workshop.tools(Grants(unsandboxed=True), sandbox=backend).script_run("demo", "tell", json=False)
    assert answer["success"], answer
    assert answer["result"].endswith("done\n")


def test_a_script_that_went_away_is_an_answer_too(workshop):
    base = workshop.skill("demo", tell_py="print(1)")
    runner = LocalRunner(workshop.home)
    workshop.runners.append(runner)
    result = runner.run(ScriptRequest("demo", base, DigestMemo().with_links(base).digest, "scripts/gone.py"))
    assert result.outcome is Outcome.BROKEN
    assert "gone.py" in result.message


@pytest.mark.parametrize("keeping", ["folder", "file", "parent"])
def test_a_skill_that_only_its_owner_can_read_runs_all_the_same(workshop, backend, keeping):
    base = workshop.skill("demo", tell_py="import json, near; print(json.dumps(near.VALUE))")
    (base / "scripts" / "near.py").write_text("VALUE = 'near'")
    parent = workshop.folder / "parent"
    parent.mkdir()
    base = base.rename(parent / "demo")
    closed = {"folder": base, "file": base / "scripts" / "near.py", "parent": parent}[keeping]
    closed.chmod(stat.S_IMODE(closed.stat().st_mode) & 0o700)
    answer = workshop.tools(Grants(unsandboxed=True), sandbox=backend).script_run("demo", "tell")
    assert answer.get("result") == "near", answer


@pytest.mark.skipif(os.geteuid() != 0, reason="only root lends its scripts another user")
@pytest.mark.parametrize("sandbox", ["landlock", "none"])
def test_root_is_told_what_another_user_cannot_read(workshop, sandbox):
    workshop.skill("demo", tell_sh="echo 1")
    closed = workshop.folder / "closed"
    closed.mkdir(mode=0o700)
    grants = Grants(unsandboxed=True, read_paths=(closed,))
    answer = workshop.tools(grants, sandbox=sandbox).script_run("demo", "tell.sh")
    assert answer["error"] == "dependency_failed"
    assert f"cannot be read by another user than root because of {closed}" in answer["message"]


def test_a_runner_works_in_a_forked_process_too(workshop):
    workshop.skill("demo", tell_py="print(1)")
    tools = workshop.tools(concurrency=1)
    assert tools.script_run("demo", "tell")["success"]
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons dislike what this is about
        child = os.fork()
    if child == 0:
        try:
            os.write(writing, str(tools.script_run("demo", "tell")["result"]).encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as file:
        assert file.read() == "1"
