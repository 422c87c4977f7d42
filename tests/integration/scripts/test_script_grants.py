"""What is granted is given, what is not is refused with a reason, and the result says both."""

import logging
import os
import shutil
import stat
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from skillkit.core.authority import DefaultAuthority, TrustEverySkill
from skillkit.core.availability import Refusal
from skillkit.core.digest_memo import DigestMemo
from skillkit.core.disk import remove_tree
from skillkit.scripts import Grants, Limits, LocalRunner, Outcome, ScriptRequest, ScriptTools
from skillkit.scripts.sandbox import seccomp
from skillkit.scripts.sandbox.bubblewrap import Bubblewrap
from skillkit.scripts.sandbox.landlock import Landlock
from skillkit.scripts.sandbox.unconfined import Unconfined
from skillkit.scripts.selection import SANDBOXES, NoSandboxError, SandboxSelection
from skillkit.scripts.self_test import self_test

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


# Backends


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
        self._inner = Unconfined()
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
    assert backend.missing() == "there is no seccomp filter for this kind of machine"


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


# Spans and logs


@pytest.fixture(scope="module")
def spans():
    """What is traced from now on; a process has one provider, which another test may have set."""
    exporter = InMemorySpanExporter()
    provider = trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):
        provider = TracerProvider()
        trace.set_tracer_provider(provider)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return exporter


def test_every_run_leaves_a_span_with_its_attributes(workshop, spans):
    spans.clear()
    workshop.skill("demo", good_py="print(1)", bad_py="import sys; sys.exit('oh')")
    tools = workshop.tools()
    tools.script_run("demo", "good", ["argument"])
    tools.script_run("demo", "bad")
    good, bad = spans.get_finished_spans()
    assert good.name == "skill.script"
    attributes = dict(good.attributes)
    assert attributes.pop("skill.execution.duration_ms") > 0
    assert attributes.pop("skill.sandbox") in ("bwrap", "landlock")
    assert attributes.pop("skillkit.skill.digest")
    assert attributes.pop("gen_ai.skill.source.uri").endswith("/demo/SKILL.md")
    assert attributes == {
        "skill.name": "demo",
        "gen_ai.skill.description": "Does demo",
        "gen_ai.skill.name": "demo",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "script_run",
        "process.exit.code": 0,
        "gen_ai.skill.resource.name": "scripts/good.py",
        "skill.script": "scripts/good.py",
        "skill.execution.status": "success",
        "skill.stdout_bytes": 2,
        "skill.stderr_bytes": 0,
    }
    assert bad.attributes["skill.execution.status"] == "error"
    assert bad.attributes["skill.error_type"] == "execution_failed"


@pytest.mark.parametrize("allowed", [False, True])
def test_arguments_stay_out_of_logs_and_spans_unless_allowed(workshop, spans, caplog, monkeypatch, allowed):
    spans.clear()
    caplog.set_level(logging.INFO, "skillkit.scripts")
    monkeypatch.setenv("ENABLE_SENSITIVE_DATA", "true" if allowed else "")
    workshop.skill("demo", good_py="print(1)", bad_py="import sys; sys.exit('s3cret on stderr')")
    tools = workshop.tools()
    tools.script_run("demo", "good", ["s3cret"])
    tools.script_run("demo", "bad", ["s3cret"])
    lines = [record for record in caplog.records if record.name == "skillkit.scripts"]
    assert [record.levelname for record in lines] == ["INFO", "ERROR"]
    assert "Script scripts/good.py of skill 'demo' succeeded" in lines[0].getMessage()
    assert "failed: execution_failed" in lines[1].getMessage()
    assert ("s3cret" in caplog.text) is allowed
    attributes = [span.attributes.get("skill.arguments") for span in spans.get_finished_spans()]
    assert attributes == (["s3cret --json"] * 2 if allowed else [None, None])


def test_without_opentelemetry_only_the_span_is_missing(workshop, monkeypatch, caplog):
    import sys

    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    caplog.set_level(logging.INFO, "skillkit.scripts")
    workshop.skill("demo", good_py="print(1)")
    assert workshop.tools().script_run("demo", "good")["success"]
    assert "succeeded" in caplog.text


ORDINARY = {
    "node_js": "console.log(require('os').cpus().length > 0)",
    "git_sh": """
        mkdir "$TMPDIR/it" && cd "$TMPDIR/it" && git init -q .
        git config user.name a && git config user.email b
        echo text > file && git add file && git commit -qm first && git log --format=%s
    """,
    "session_py": "import subprocess; subprocess.run(['/bin/true'], start_new_session=True, check=True)",
    "touch_py": """
        import os, pathlib, shutil
        path = pathlib.Path(os.environ["TMPDIR"]) / "file"
        path.touch()
        path.touch()
        shutil.copy2(path, path.with_name("copy"))
        assert path.exists()
    """,
    "touch_sh": 'cd "$TMPDIR" && touch a && touch a && cp -p a b && tar cf c.tar a && tar xf c.tar && ls a',
    "itself_py": "open('/proc/self/status').read(); open('/proc/cpuinfo').read()",
}


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_scripts_work_in_every_sandbox(workshop, confining, name):
    program = {"node_js": "node", "git_sh": "git"}.get(name, "sh")
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    workshop.skill("demo", **{name: ORDINARY[name]})
    answer = workshop.tools(sandbox=confining).script_run("demo", name.partition("_")[0], json=False)
    assert answer["success"], answer


EXECUTABLE = {
    "make_sh": "cd $TMPDIR; printf '#!/bin/sh\\necho 1\\n' > x; chmod +x x; ./x",
    "make_py": """
        import os, pathlib, subprocess
        made = pathlib.Path(os.environ["TMPDIR"]) / "x"
        made.write_text("#!/bin/sh\\necho 1\\n")
        made.chmod(0o755)
        subprocess.run([made], check=True)
    """,
}


@pytest.mark.parametrize("name", EXECUTABLE)
def test_a_file_that_was_made_executable_is_executed_or_the_script_refused(workshop, confining, name):
    workshop.skill("demo", **{name: EXECUTABLE[name]})
    answer = workshop.tools(sandbox=confining).script_run("demo", "make")
    if confining == "landlock" and os.geteuid() != 0:
        assert answer["error"] == "permission_denied"
        assert "modes of files cannot be changed" in answer["message"]
    else:
        assert answer["result"] == 1


NEEDS_SHARED_MEMORY = [
    "import multiprocessing as mp; print(1); mp.Lock()",
    "from multiprocessing import Queue; print(1)",
    "from concurrent import futures; print(1); futures.ProcessPoolExecutor()",
]


@pytest.mark.parametrize("code", NEEDS_SHARED_MEMORY)
def test_what_a_sandbox_cannot_give_is_said_before_the_script_starts(workshop, confining, code):
    workshop.skill("demo", lock_py=code)
    answer = workshop.tools(sandbox=confining).script_run("demo", "lock")
    if confining == "landlock":
        assert answer["error"] == "permission_denied"
        assert "multiprocessing needs shared memory" in answer["message"]
        assert answer["meta"]["stdout_bytes"] == 0
    else:
        assert answer["result"] == 1


@pytest.mark.parametrize("code", ["import multiprocessing; print(int(multiprocessing.cpu_count() > 0))"])
def test_what_a_sandbox_can_give_is_not_refused(workshop, confining, code):
    """A script may name multiprocessing, ProcessPoolExecutor or chmod +x in words."""
    workshop.skill("demo", count_py=f"# ProcessPoolExecutor, chmod +x\n{code}")
    assert workshop.tools(sandbox=confining).script_run("demo", "count")["result"] == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_an_ordinary_user_is_told_beforehand_what_landlock_cannot_do():
    """The reasons depend on who runs, so they are asked for by a process of another user."""
    program = (
        "from skillkit.scripts.lacking import find_lacking\n"
        "from skillkit.scripts.sandbox.landlock import Landlock\n"
        "for kind, code in (('sh', b'chmod 755 x'), ('sh', b'chmod 644 x'),\n"
        "                   ('python', b'os.chmod(x, 0o700)'), ('python', b'os.chmod(x, 0o600)')):\n"
        "    print(find_lacking(Landlock(), kind, code) is not None)\n"
    )
    # Imported before the user changes: the interpreter may be where only root can read.
    child = (
        "import os, skillkit.scripts.lacking, skillkit.scripts.sandbox.landlock\n"
        f"os.setresuid(12345, 12345, 12345)\nexec({program!r})"
    )
    ran = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["True", "False", "True", "False"]


def test_a_home_that_cannot_be_written_does_not_keep_scripts_from_running(workshop):
    closed = Path("/proc/self")  # where not even root makes a file
    base = workshop.skill("demo", tell_py="print(1)")
    runner = LocalRunner(closed / "home")
    workshop.runners.append(runner)
    request = ScriptRequest("demo", base, DigestMemo().with_links(base).digest, "scripts/tell.py")
    assert runner.run(request).stdout.data == b"1\n"
    assert not (closed / "home").exists()
    private = workshop.folder / ".tmp" / f"skillkit-{os.geteuid()}"
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    private.chmod(0o777)
    other = LocalRunner(closed / "home").environments.folder.parent
    assert other != private
    for folder in (private, other):
        remove_tree(folder)


def test_modules_of_the_skill_are_found_where_authors_put_them(workshop, confining):
    base = workshop.skill(
        run_py="import os\nfrom helper import where\nfrom tool.core import name\nprint(where, name)"
    )
    for file, content in (("lib/helper.py", "where = 'lib'"), ("scripts/tool/core.py", "name = 'tool'")):
        (base / file).parent.mkdir(parents=True, exist_ok=True)
        (base / file).write_text(content)
    (base / "scripts" / "tests").mkdir()
    (base / "scripts" / "tests" / "check.py").write_text("from tool.core import name\nprint(name)")
    tools = workshop.tools(sandbox=confining)
    assert tools.script_run("demo", "run", json=False)["result"] == "lib tool\n"
    assert tools.script_run("demo", "check", json=False)["result"] == "tool\n"
