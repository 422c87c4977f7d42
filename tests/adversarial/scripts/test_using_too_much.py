"""Scripts that take more than their share: every run ends within its limits and leaves nothing behind."""

import asyncio
import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from skillkit.core.digest_memo import DigestMemo
from skillkit.scripts import Grants, Limits, ScriptRequest
from skillkit.scripts.sandbox.backend import Confinement
from skillkit.scripts.sandbox.bubblewrap import Bubblewrap, BubblewrapRunning
from skillkit.scripts.selection import SandboxSelection

MIB = 1 << 20


def processes_with(marker: str) -> list[int]:
    """Processes that carry `marker` on their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                if marker.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
    return found


def until(condition: Callable[[], bool]) -> None:
    """Wait for something that is bound to happen."""
    deadline = time.monotonic() + 60
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline
        pause.wait(0.01)


DAEMONS = """
    import os, subprocess, sys, time
    marker = sys.argv[1]
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    sleeper = [sys.executable, "-c", stubborn, marker]
    def orphan(depth, leave):
        if os.fork() == 0:
            if leave:
                try:
                    os.setsid()
                except OSError:
                    pass
            if depth:
                orphan(depth - 1, leave)
                os._exit(0)
            os.execv(sys.executable, sleeper)
    for depth in (0, 1, 3):
        for leave in (False, True):
            orphan(depth, leave)
    subprocess.Popen(sleeper)
    print("[]", flush=True)
"""


@pytest.mark.parametrize("ending", ["exits", "hangs", "crashes"])
def test_daemons_and_fork_chains_die_with_the_script(workshop, backend, ending):
    last = {"exits": "", "hangs": "time.sleep(600)", "crashes": "os.abort()"}[ending]
    workshop.skill("daemons", run_py=textwrap.dedent(DAEMONS) + last)
    marker = f"marker-{os.getpid()}-{backend}-{ending}"
    limits = Limits(timeout=5 if ending == "hangs" else 60)
    tools = workshop.tools(Grants(unsandboxed=True), sandbox=backend, limits=limits)
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
    tools = workshop.tools(sandbox=confining, limits=Limits(timeout=3, processes=40))
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


# Output


def test_three_hundred_megabytes_of_output_leave_head_and_tail(workshop, backend):
    workshop.skill(
        "talk",
        run_py="""
        import os
        os.write(1, b"first")
        block = b"x" * (1 << 20)
        for _ in range(300):
            view = memoryview(block)
            while view:
                view = view[os.write(1, view):]
        os.write(1, b"last")
        """,
    )
    tools = workshop.tools(Grants(unsandboxed=True), sandbox=backend)
    before = resident()
    answer = tools.script_run("talk", "run", json=False)
    assert answer["success"], answer
    assert resident() - before < 16 * MIB
    assert answer["meta"]["stdout_bytes"] == 300 * MIB + 9
    assert answer["meta"]["truncated"] is True
    assert "output truncated: 314572809 bytes printed, 1048576 kept" in answer["message"]
    assert answer["result"].startswith("firstx")
    assert answer["result"].endswith("xlast")
    assert len(answer["result"]) < MIB + 100


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_endless_output_is_ended_at_the_hard_limit(workshop, backend):
    workshop.skill("talk", run_sh="while :; do echo endless; done")
    limits = Limits(output_kill=4 * MIB, output=1000)
    answer = workshop.tools(Grants(unsandboxed=True), sandbox=backend, limits=limits).script_run(
        "talk", "run"
    )
    assert answer["error"] == "execution_failed"
    assert "killed after printing" in answer["message"]


def test_json_that_does_not_fit_is_a_parse_error_that_says_so(workshop):
    workshop.skill("talk", run_py="print('[' + '1,' * 1000000 + '1]')")
    answer = workshop.tools().script_run("talk", "run")
    assert answer["error"] == "parse_error"
    assert "incomplete" in answer["message"]
    assert "2000003 bytes printed" in answer["message"] or "output truncated" in answer["message"]


@pytest.mark.parametrize(
    ("script", "result"),
    [
        ("import os, sys; print('before', flush=True); os.close(1); os.close(2)", "before\n"),
        (r"import os; os.write(1, b'\xff\xfe ok \xc3')", "\ufffd\ufffd ok \ufffd"),
        (r"print('\x1b]0;title\x07\x1b[2J\x1b[31mred\x1b[0m\u202e\u200bend\r\nx\ry')", "redend\nx\ny\n"),
        (r"print('\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \x9b31m')", "link 31m\n"),
        ("import sys; sys.stderr.write('e' * 3000000); print('done')", "done\n"),
    ],
)
def test_odd_output_is_text_in_the_end(workshop, backend, script, result):
    workshop.skill("odd", run_py=script)
    tools = workshop.tools(Grants(unsandboxed=True), sandbox=backend)
    answer = tools.script_run("odd", "run", json=False)
    assert answer["success"], answer
    assert answer["result"] == result


# Many at once, cancelled, in a row


async def test_cancelling_the_task_kills_the_script(workshop, backend):
    workshop.skill("daemons", run_py=textwrap.dedent(DAEMONS) + "time.sleep(600)")
    marker = f"marker-{os.getpid()}-{backend}-cancelled"
    tools = workshop.tools(Grants(unsandboxed=True), sandbox=backend)
    task = asyncio.create_task(tools.ascript_run("daemons", "run", [marker]))
    await asyncio.to_thread(until, lambda: len(processes_with(marker)) >= 8)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert processes_with(marker) == []


async def test_a_run_that_waits_in_line_is_cancelled_without_starting(workshop):
    workshop.skill("slow", run_py="import time; time.sleep(600)")
    tools = workshop.tools(concurrency=1)
    marker = f"marker-{os.getpid()}-in-line"
    running = asyncio.create_task(tools.ascript_run("slow", "run", [marker]))
    await asyncio.to_thread(until, lambda: bool(processes_with(marker)))
    waiting = asyncio.create_task(tools.ascript_run("slow", "run", [marker]))
    for task in (waiting, running):
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


@pytest.mark.this_machine
async def test_thirty_two_at_once_share_the_limit_and_all_finish(workshop, confining):
    workshop.skill(
        "many",
        run_py="""
        import json, os, sys, time
        shared = sys.argv[1]
        mine = os.path.join(shared, sys.argv[2])
        open(mine, "w").close()
        together = len(os.listdir(shared))
        time.sleep(0.05)
        os.unlink(mine)
        print(json.dumps([int(sys.argv[2]), together]))
        """,
    )
    shared = workshop.folder / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    tools = workshop.tools(Grants(write_paths=(shared,)), sandbox=confining, concurrency=4)
    runs = [tools.ascript_run("many", "run", [str(shared), str(number)]) for number in range(32)]
    answers = await asyncio.gather(*runs)
    assert [answer.get("result", [answer])[0] for answer in answers] == list(range(32))
    assert max(answer["result"][1] for answer in answers) <= 4


@pytest.mark.this_machine
def test_runs_in_a_row_leak_neither_descriptors_nor_processes_nor_folders(workshop, backend):
    workshop.skill("quick", run_sh="echo 1")
    tools = workshop.tools(Grants(unsandboxed=True), sandbox=backend, concurrency=1)
    for _ in range(3):
        tools.script_run("quick", "run")
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    before = set(children.read_text().split())
    descriptors = len(os.listdir("/proc/self/fd"))
    for _ in range(40):
        assert tools.script_run("quick", "run")["success"]
    assert len(os.listdir("/proc/self/fd")) <= descriptors  # others may close theirs meanwhile
    assert set(children.read_text().split()) <= before


def test_no_zombie_stays_when_orphans_come_to_our_own_process(workshop, backend):
    """As in a container whose first process is the agent."""
    workshop.skill("daemons", run_py=textwrap.dedent(DAEMONS))
    program = textwrap.dedent(
        """
        import ctypes, os, sys
        from pathlib import Path
        from skillkit.scripts import LocalRunner, ScriptRequest
        from skillkit.core.digest_memo import DigestMemo
        base, home, sandbox = sys.argv[1:]
        assert ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0  # orphans of ours become our children
        runner, digest = LocalRunner(Path(home), sandbox=sandbox), DigestMemo().with_links(Path(base)).digest
        request = ScriptRequest("daemons", Path(base), digest, "scripts/run.py", ("x",), unsandboxed=True)
        for _ in range(5):
            runner.run(request)
        try:
            os.waitpid(-1, os.WNOHANG)
            print("children left")
        except ChildProcessError:
            print("none")
        """
    )
    command = [sys.executable, "-c", program, workshop.folder / "daemons", workshop.home, backend]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "none\n"


def test_interrupting_a_sync_call_kills_the_script(workshop):
    workshop.skill("daemons", run_py=textwrap.dedent(DAEMONS) + "time.sleep(600)")
    marker = f"marker-{os.getpid()}-interrupted"
    program = textwrap.dedent(
        """
        import json, signal, sys
        from pathlib import Path
        from skillkit.scripts import LocalRunner, ScriptRequest
        from skillkit.core.digest_memo import DigestMemo
        base, home, marker = sys.argv[1:]
        signal.signal(signal.SIGINT, signal.default_int_handler)
        runner, digest = LocalRunner(Path(home)), DigestMemo().with_links(Path(base)).digest
        try:
            runner.run(ScriptRequest("daemons", Path(base), digest, "scripts/run.py", (marker,)))
        except KeyboardInterrupt:
            print(json.dumps("interrupted"))
        """
    )
    command = [sys.executable, "-c", program, workshop.folder / "daemons", workshop.home, marker]
    ours = subprocess.Popen(command, stdout=subprocess.PIPE)
    until(lambda: len(processes_with(marker)) >= 8)
    ours.send_signal(signal.SIGINT)
    output, _ = ours.communicate()
    assert json.loads(output) == "interrupted"
    assert processes_with(marker) == []


@pytest.mark.parametrize("limit", ["NOFILE", "FSIZE"])
def test_a_lower_hard_limit_of_the_shell_is_kept_and_nothing_breaks(workshop, confining, limit):
    workshop.skill(
        "quick",
        run_py=f"import json, resource; print(json.dumps(resource.getrlimit(resource.RLIMIT_{limit})))",
    )
    program = textwrap.dedent(
        """
        import resource, sys
        from pathlib import Path
        from skillkit.scripts import LocalRunner, ScriptRequest
        from skillkit.core.digest_memo import DigestMemo
        base, home, sandbox, limit = sys.argv[1:]
        lower = {"NOFILE": 300, "FSIZE": 100 << 20}[limit]
        digest = DigestMemo().with_links(Path(base)).digest
        request = ScriptRequest("quick", Path(base), digest, "scripts/run.py")
        runner = LocalRunner(Path(home), sandbox=sandbox)
        resource.setrlimit(getattr(resource, "RLIMIT_" + limit), (lower, lower))
        result = runner.run(request)
        print(lower, result.message, result.stdout.data.decode())
        """
    )
    command = [sys.executable, "-c", program, workshop.folder / "quick", workshop.home, confining, limit]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    lower, message = ran.stdout.strip().split(" ", 1)
    assert json.loads(message) == [int(lower), int(lower)]


@pytest.mark.this_machine
def test_a_limit_of_file_sizes_that_leaves_no_room_for_a_sandbox_is_said():
    if Bubblewrap().missing():
        pytest.skip("bwrap is not installed")
    program = textwrap.dedent(
        """
        import resource, tempfile
        from pathlib import Path
        from skillkit.core.grants import Limits
        from skillkit.scripts.sandbox.backend import Confinement
        from skillkit.scripts.sandbox.bubblewrap import Bubblewrap
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
        confinement = Confinement(("/bin/true",), Path("/"), {}, Limits())
        try:
            Bubblewrap().start(confinement, Bubblewrap().work_folder())
        except Exception as error:
            print(error)
        """
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "ulimit -f" in said, said


@pytest.mark.this_machine
def test_files_of_the_machine_are_not_counted_before_the_root_has_changed(workshop, monkeypatch):
    """On a busy machine bwrap may need longer for its mounts than the first look takes to come."""
    if SandboxSelection(workshop.home / "cache").reason(Bubblewrap()):
        pytest.skip("bwrap does not work here")
    counted = []

    def start(self: Bubblewrap, confinement: Confinement, work: str) -> BubblewrapRunning:
        opened = BubblewrapRunning.open_gate

        def open_gate(running: BubblewrapRunning, gate: int, confinement: Confinement) -> None:
            again = os.dup(gate)
            null = os.open(os.devnull, os.O_WRONLY)
            opened(running, null, confinement)  # everything but the opening
            counted.append(running.usage().files)
            opened_first = os.write(again, b"x")
            assert opened_first == 1
            os.close(again)
            os.close(gate)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(BubblewrapRunning, "open_gate", open_gate)
            return original(self, confinement, work)

    original = Bubblewrap.start
    monkeypatch.setattr(Bubblewrap, "start", start)
    workshop.skill("quick", run_py="print(1)")
    assert workshop.tools(sandbox="bwrap").script_run("quick", "run")["result"] == 1
    assert counted[0] < 20  # folders of the sandbox; those of this machine hold thousands


@pytest.mark.this_machine
def test_runs_that_wait_hold_no_descriptor(workshop):
    workshop.skill("quick", run_py="print(1)")
    base = workshop.folder / "quick"
    tools = workshop.tools(concurrency=1)
    assert tools.script_run("quick", "run")["success"]
    request = ScriptRequest("quick", base, DigestMemo().with_links(base).digest, "scripts/run.py")
    runner = workshop.runners[-1]

    async def queue() -> int:
        before = len(os.listdir("/proc/self/fd"))
        waiting = [asyncio.create_task(runner.arun(request)) for _ in range(300)]
        await asyncio.sleep(0)
        held = len(os.listdir("/proc/self/fd")) - before
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        return held

    assert asyncio.run(queue()) < 50


def test_a_start_without_descriptors_left_fails_and_leaks_none(workshop, backend):
    workshop.skill("quick", run_py="print(1)")
    tools = workshop.tools(Grants(unsandboxed=True), sandbox=backend)
    assert tools.script_run("quick", "run")["success"]
    before = set(os.listdir("/proc/self/fd"))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        for spare in range(3, 16):
            highest = max(map(int, os.listdir("/proc/self/fd")))
            resource.setrlimit(resource.RLIMIT_NOFILE, (highest + spare, hard))
            tools.script_run("quick", "run")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert len(os.listdir("/proc/self/fd")) <= len(before)
    assert tools.script_run("quick", "run")["success"]
