"""Bad days: whatever dies or falls silent, no script starts twice, everybody is answered, nothing is left."""

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fleet_machines import ADDRESS, AGENT, URL
from ray_cluster import processes, wait_until

from skillkit.scripts import Outcome

SLEEPS = "import time; time.sleep(600)"
ANSWER = 10.0
"""Seconds within which every caller is answered after a fault."""


def pid_of(fleet, name):
    return fleet.machines()[name]["pid"]


def script_processes(request):
    return [line for line in processes().values() if f"/skills/{request.skill}/" in line]


class Called:
    """A run in a thread of its own, and how long after a fault it was answered."""

    def __init__(self, fleet, request, **options):
        self.request = request
        before = {name: each["running"] for name, each in fleet.machines().items()}
        self.pool = ThreadPoolExecutor(1)
        self.future = self.pool.submit(fleet.runner(**options).run, request)
        wait_until(lambda: self.future.done() or fleet.starts(request), 120, "the start of the script")
        assert fleet.starts(request), self.future.result()
        after = fleet.machines()
        self.worker = next((name for name in after if after[name]["running"] > before.get(name, 0)), "")

    def answer(self, seconds=ANSWER):
        result = self.future.result(timeout=seconds)
        self.pool.shutdown()
        return result


def test_a_killed_worker_is_told_and_its_script_is_not_started_again(fleet, machines):
    called = Called(fleet, fleet.request(SLEEPS))
    os.kill(pid_of(fleet, called.worker), signal.SIGKILL)
    result = called.answer()
    assert (result.outcome, "may have run" in result.message) == (Outcome.LOST, True)
    wait_until(lambda: not script_processes(called.request))
    assert fleet.starts(called.request) == 1
    assert fleet.runner().run(fleet.request()).outcome is Outcome.EXITED


def test_runs_for_a_worker_that_just_died_are_started_elsewhere(fleet, machines):
    requests, runner = [fleet.request() for _ in range(8)], fleet.runner()
    runner.run(fleet.request())
    os.kill(pid_of(fleet, machines["127.0.0.2"]), signal.SIGKILL)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(runner.run, requests))
    assert {result.outcome for result in results} == {Outcome.EXITED}, results
    assert [fleet.starts(request) for request in requests] == [1] * 8


def test_what_is_safe_to_retry_is_tried_again_elsewhere(fleet, machines):
    flag = fleet.marks / f"retried-{uuid.uuid4().hex}"
    source = f"""
        import os, time
        if not os.path.exists({str(flag)!r}):
            open({str(flag)!r}, "x").close()
            time.sleep(600)
        print("second time")
        """
    called = Called(fleet, fleet.request(source, retry_safe=True))
    wait_until(flag.exists)
    os.kill(pid_of(fleet, called.worker), signal.SIGKILL)
    result = called.answer(60)
    assert (result.outcome, result.stdout.data) == (Outcome.EXITED, b"second time\n")
    assert fleet.starts(called.request) == 2


@pytest.mark.parametrize("what", ["worker", "machine"])
def test_a_machine_that_falls_silent_is_given_up(fleet, machines, what):
    called = Called(fleet, fleet.request(SLEEPS))
    address = fleet.machines()[called.worker]["address"]
    frozen = [pid_of(fleet, called.worker)]
    if what == "machine":
        frozen += [fleet.cluster.raylet(address), fleet.cluster.machines[address].pid]
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)
    began = time.monotonic()
    result = called.answer()
    assert (result.outcome, "no heartbeat" in result.message) == (Outcome.LOST, True), (
        time.monotonic() - began
    )
    assert fleet.runner().run(fleet.request()).outcome is Outcome.EXITED
    assert fleet.machines()[called.worker]["state"] == "silent"
    for pid in frozen:
        os.kill(pid, signal.SIGCONT)
    wait_until(lambda: fleet.machines()[called.worker]["state"] == "ready")
    assert fleet.starts(called.request) == 1
    fleet.kill_worker(called.worker)
    wait_until(lambda: not script_processes(called.request))


@pytest.mark.parametrize("what", ["gateway", "driver"])
def test_a_gateway_or_driver_that_dies_loses_no_run(fleet, machines, what):
    running = [Called(fleet, fleet.request("import time; time.sleep(4); print('done')")) for _ in range(8)]
    waiting = [fleet.request("print('waited')") for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        runner = fleet.runner("waits", patience=60.0)
        futures = [pool.submit(runner.run, request) for request in waiting]
        wait_until(lambda: fleet.tenant("waits")["waiting"] == 4)
        if what == "gateway":
            fleet.kill_gateway()
            fleet.start_gateway()
        else:
            (pid,) = (pid for pid, line in processes().items() if "skillkit.fleet.engine" in line)
            os.kill(pid, signal.SIGKILL)
        assert [call.answer(60).stdout.data for call in running] == [b"done\n"] * 8
        assert [future.result(60).stdout.data for future in futures] == [b"waited\n"] * 4
    assert [fleet.starts(request) for request in waiting] == [1] * 4
    assert [fleet.starts(call.request) for call in running] == [1] * 8


CLIENT = """
import pickle, sys
from pathlib import Path
from skillkit.fleet.remote import RemoteRunner
from skillkit.fleet.sealing import FleetKeys
folder = Path(sys.argv[1])
key = FleetKeys.read(folder / "keys").tenant("default").text
runner = RemoteRunner(sys.argv[2], key, shared_paths=[folder])
for request in pickle.loads((folder / "requests").read_bytes()):
    runner.run(request)
"""


def test_a_client_that_is_killed_ends_its_runs(fleet, machines):
    request = fleet.request(SLEEPS)
    (fleet.folder / "requests").write_bytes(pickle.dumps([request]))
    client = subprocess.Popen([sys.executable, "-c", CLIENT, str(fleet.folder), URL])
    fleet.wait_for_start(request)
    wait_until(lambda: script_processes(request))
    client.kill()
    client.wait()
    wait_until(lambda: not script_processes(request), 3 * ANSWER, "the end of the script")
    assert fleet.starts(request) == 1
    wait_until(lambda: fleet.tenant("default")["running"] == 0)


def test_all_runs_succeed_beside_a_machine_with_a_full_disk(fleet, machines):
    fleet.stop_workers()
    small = Path(tempfile.mkdtemp(prefix="small-", dir=fleet.folder))
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m,mode=755", "tmpfs", str(small)], check=True)
    try:
        full = fleet.start_worker("127.0.0.2", home=str(small / "home"), min_free=1)
        (small / "fill").write_bytes(bytes(os.statvfs(small).f_bavail * os.statvfs(small).f_bsize - 4096))
        fleet.start_worker("127.0.0.3")
        requests = [fleet.request() for _ in range(10)]
        runner = fleet.runner()
        with ThreadPoolExecutor(8) as pool:
            results = list(pool.map(runner.run, requests * 3))
        assert {result.outcome for result in results} == {Outcome.EXITED}, results
        assert [fleet.starts(request) for request in requests] == [3] * 10
        (small / "fill").unlink()
        wait_until(lambda: fleet.machines()[full]["state"] == "ready", 60, "the machine's return")
    finally:
        fleet.stop_workers()
        subprocess.run(["umount", "-l", str(small)], check=True)


def test_a_killed_raylet_is_told_and_leaves_nothing(fleet, machines):
    called = Called(fleet, fleet.request(SLEEPS))
    address = fleet.machines()[called.worker]["address"]
    os.kill(fleet.cluster.raylet(address), signal.SIGKILL)
    assert called.answer().outcome is Outcome.LOST
    wait_until(lambda: not script_processes(called.request))
    assert fleet.starts(called.request) == 1
    assert fleet.runner().run(fleet.request()).outcome is Outcome.EXITED


def test_a_worker_of_another_version_is_shown_and_not_used(fleet, machines):
    fleet.stop_workers()
    newer = fleet.start_worker("127.0.0.2", protocol=99)
    assert fleet.machines()[newer]["state"] == "other version"
    fleet.start_worker("127.0.0.3")
    requests = [fleet.request() for _ in range(4)]
    assert {fleet.runner().run(request).outcome for request in requests} == {Outcome.EXITED}
    assert [fleet.starts(request) for request in requests] == [1] * 4


def test_a_worker_that_no_gateway_hears_says_so_and_exits(fleet, machines):
    fleet.kill_gateway()
    home = {"AGENT_HOME": str(fleet.folder / "unheard")}
    command = [AGENT, "fleet", "worker", "--address", ADDRESS]
    serving = subprocess.run(
        command, env={**fleet.environment, **home}, capture_output=True, text=True, timeout=90, check=False
    )
    fleet.start_gateway()
    assert serving.returncode != 0
    assert "Serving" not in serving.stdout + serving.stderr
    assert "is `agent fleet gateway` running" in serving.stderr
