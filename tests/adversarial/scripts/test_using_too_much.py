"""Scripts that take more than their share: every run ends within its limits and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest
from daemons import DAEMONS, processes_with, until

from skillkit.scripts import Grants, Limits

MIB = 1 << 20


@pytest.mark.parametrize("ending", ["exits", "hangs", "crashes"])
def test_daemons_and_fork_chains_die_with_the_script(workshop, backend, time_is_up, ending):
    last = {"exits": "", "hangs": "time.sleep(600)", "crashes": "os.abort()"}[ending]
    workshop.skill("daemons", run_py=textwrap.dedent(DAEMONS) + last)
    marker = f"marker-{os.getpid()}-{backend}-{ending}"
    tools = workshop.tools(Grants(unsandboxed=True), sandbox=backend)
    if ending == "hangs":
        time_is_up()
    answer = tools.script_run("daemons", "run", [marker])
    assert answer.get("error") == {"exits": None, "hangs": "timeout", "crashes": "execution_failed"}[ending]
    assert processes_with(marker) == []


@pytest.mark.this_machine
def test_everything_dies_when_our_own_process_is_killed(workshop, backend):
    workshop.skill("daemons", run_py=textwrap.dedent(DAEMONS) + "time.sleep(600)")
    marker = f"marker-{os.getpid()}-{backend}-orphaned"
    program = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from skillkit.scripts import LocalRunner, ScriptRequest
        from skillkit.core.digest_memo import DigestMemo
        base, home, sandbox, marker = sys.argv[1:]
        runner, digest = LocalRunner(Path(home), sandbox=sandbox), DigestMemo().with_links(Path(base)).digest
        script = "scripts/run.py"
        runner.run(ScriptRequest("daemons", Path(base), digest, script, (marker,), unsandboxed=True))
        """
    )
    command = [sys.executable, "-c", program, workshop.folder / "daemons", workshop.home, backend, marker]
    temporary = workshop.folder / ".tmp"
    ours = subprocess.Popen(command, env={**os.environ, "TMPDIR": str(temporary)})
    try:
        until(lambda: len(processes_with(marker)) >= 8)
    finally:
        ours.send_signal(signal.SIGKILL)
        ours.wait()
    until(lambda: processes_with(marker) == [])
    until(lambda: os.listdir(temporary) == [])


def test_a_fork_bomb_stops_at_the_limit_of_processes(workshop, confining):
    workshop.skill(
        "bomb",
        run_py="""
        import json, os, time
        count = 0
        try:
            while count < 500:
                if os.fork() == 0:
                    time.sleep(600)
                    os._exit(0)
                count += 1
        except BlockingIOError:
            pass
        print(json.dumps(count))
        """,
    )
    tools = workshop.tools(sandbox=confining, limits=Limits(processes=20))
    answer = tools.script_run("bomb", "run")
    assert answer["success"], answer
    # Without a namespace the kernel counts the user's other processes too, which come and go.
    assert answer["result"] <= (20 if confining == "bwrap" or os.geteuid() == 0 else 100)


def test_an_unbounded_fork_bomb_is_over_when_the_time_is(workshop, confining):
    workshop.skill("bomb", run_sh='bomb() { bomb "$1" | bomb "$1" & }; bomb "$1"; sleep 600')
    marker = f"marker-{os.getpid()}-{confining}-bomb"
    tools = workshop.tools(sandbox=confining, limits=Limits(timeout=1, processes=40))
    answer = tools.script_run("bomb", "run", [marker])
    assert answer["error"] in ("timeout", "execution_failed")
    assert processes_with(marker) == []


def test_the_work_folder_cannot_grow_beyond_its_limit(workshop, confining):
    workshop.skill(
        "fill",
        run_py="""
        import json, os, sys, time
        written = 0
        try:
            for number in range(400):
                with open(os.path.join(os.environ["TMPDIR"], str(number)), "wb", buffering=0) as file:
                    for _ in range(4):
                        written += file.write(bytes(1 << 18))
                time.sleep(0.005)
        except OSError as error:
            pass
        print(json.dumps(written))
        """,
    )
    tools = workshop.tools(sandbox=confining, limits=Limits(work_size=8 * MIB))
    answer = tools.script_run("fill", "run")
    if answer["success"]:
        assert answer["result"] <= 8 * MIB
    else:
        assert "writing more than" in answer["message"]
        assert answer["meta"]["backend"] == "landlock"


def test_no_other_place_in_sight_can_be_filled(workshop, confining):
    workshop.skill(
        "fill",
        run_py="""
        import json, os
        filled = {}
        for top in ("/", "/dev", "/dev/shm", "/etc", "/proc", "/run", "/var/tmp", "/usr", os.getcwd()):
            try:
                with open(os.path.join(top, "filler"), "wb", buffering=0) as file:
                    filled[top] = 0
                    for _ in range(64):
                        filled[top] += file.write(bytes(1 << 20))
            except OSError:
                pass
        print(json.dumps(filled))
        """,
    )
    answer = workshop.tools(sandbox=confining).script_run("fill", "run")
    assert answer["success"], answer
    filled = answer["result"]
    assert set(filled) <= {"/dev/shm"}
    assert filled.get("/dev/shm", 0) <= 16 * MIB


@pytest.mark.parametrize("shape", ["many", "deep"])
def test_neither_many_files_nor_deep_folders_get_out_of_hand(workshop, backend, shape):
    workshop.skill(
        "fill",
        run_py="""
        import os, sys, time
        os.chdir(os.environ["TMPDIR"])
        if sys.argv[1] == "many":
            for number in range(3000):
                open(str(number), "w").close()
        else:
            for number in range(3000):
                os.mkdir("d" * 200, 0o700)
                os.chdir("d" * 200)
            os.mkdir("closed", 0)
            open("last", "w").close()
        print("[]", flush=True)
        time.sleep(600)
        """,
    )
    limits = Limits(work_files=2000)
    tools = workshop.tools(Grants(unsandboxed=True), sandbox=backend, limits=limits)
    answer = tools.script_run("fill", "run", [shape])
    assert answer["error"] == "execution_failed", answer
    assert "2000 files" in answer["message"]


def test_one_file_cannot_grow_beyond_its_limit(workshop, confining):
    workshop.skill(
        "fill",
        run_py="""
        import errno, json, os
        try:
            with open(os.environ["TMPDIR"] + "/x", "wb") as file:
                file.truncate(3 << 20)
            print(json.dumps("grew"))
        except OSError as error:
            print(json.dumps(errno.errorcode[error.errno]))
        """,
    )
    tools = workshop.tools(sandbox=confining, limits=Limits(file_size=2 * MIB))
    assert tools.script_run("fill", "run")["result"] == "EFBIG"


def test_one_process_cannot_allocate_beyond_the_limit(workshop, backend):
    workshop.skill(
        "eat",
        run_py="""
        try:
            block = bytearray(200 << 20)
            print('"allocated"')
        except MemoryError:
            print('"refused"')
        """,
    )
    tools = workshop.tools(Grants(unsandboxed=True), sandbox=backend, limits=Limits(memory=100 * MIB))
    assert tools.script_run("eat", "run")["result"] == "refused"


@pytest.mark.parametrize("how", ["shared", "many"])
def test_the_whole_tree_cannot_hold_more_memory_than_the_limit(workshop, confining, how):
    workshop.skill(
        "eat",
        run_py="""
        import mmap, os, sys, time
        if sys.argv[1] == "many":
            for _ in range(8):
                if os.fork() == 0:
                    block = bytearray(b"x") * (40 << 20)
                    time.sleep(600)
        else:
            shared = mmap.mmap(-1, 300 << 20)
            for offset in range(0, len(shared), 4096):
                shared[offset] = 1
        time.sleep(600)
        """,
    )
    tools = workshop.tools(sandbox=confining, limits=Limits(memory=120 * MIB, timeout=60))
    answer = tools.script_run("eat", "run", [how])
    assert answer["error"] == "execution_failed"
    assert "memory" in answer["message"]
