"""Many at once, cancelled, in a row, and where our own process is short of something."""

import asyncio
import json
import os
import resource
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from daemons import DAEMONS, processes_with, until

from skillkit.core.digest_memo import DigestMemo
from skillkit.scripts import Grants, ScriptRequest
from skillkit.scripts.sandbox.backend import Confinement
from skillkit.scripts.sandbox.bubblewrap import Bubblewrap, BubblewrapProcess
from skillkit.scripts.selection import SandboxSelection


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
    for _ in range(20):
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
        for _ in range(3):
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

    def start(self: Bubblewrap, confinement: Confinement, work: str) -> BubblewrapProcess:
        opened = BubblewrapProcess.open_gate

        def open_gate(running: BubblewrapProcess, gate: int, confinement: Confinement) -> None:
            again = os.dup(gate)
            null = os.open(os.devnull, os.O_WRONLY)
            opened(running, null, confinement)  # everything but the opening
            counted.append(running.usage().files)
            opened_first = os.write(again, b"x")
            assert opened_first == 1
            os.close(again)
            os.close(gate)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(BubblewrapProcess, "open_gate", open_gate)
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
