"""What scripts ordinarily do works in every sandbox, or is said before they start."""

import os
import shutil
import stat
import subprocess
import sys
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
