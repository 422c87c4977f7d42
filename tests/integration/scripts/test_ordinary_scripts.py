"""What scripts ordinarily do works in every sandbox, or the failure says why."""

import os
import shutil
import stat
from pathlib import Path

import pytest

from skillkit.core.digest_memo import DigestMemo
from skillkit.core.disk import remove_tree
from skillkit.scripts import LocalRunner, ScriptRequest

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


def test_a_failure_for_want_of_shared_memory_says_so(workshop, confining):
    workshop.skill("demo", lock_py="import multiprocessing; multiprocessing.Lock(); print(1)")
    answer = workshop.tools(sandbox=confining).script_run("demo", "lock")
    if confining == "landlock":
        assert "multiprocessing needs shared memory" in answer["message"]
    else:
        assert answer["result"] == 1


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
