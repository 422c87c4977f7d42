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
from dataclasses import replace
from pathlib import Path

import pytest
from fleet_machines import ADDRESS
from ray_cluster import processes, wait_until

from skillkit.core.digest_memo import DigestMemo
from skillkit.core.grants import Limits
from skillkit.fleet.cluster import get_dispatcher
from skillkit.fleet.packing import pack_tree
from skillkit.fleet.tree_stores import open_tree_store
from skillkit.scripts import Outcome

pytestmark = pytest.mark.usefixtures("fault_round")

SLEEPS = "import time; time.sleep(600)"
ANSWER = 10.0
"""Seconds within which every caller is answered after a fault."""


def pid_of(fleet, name):
    return fleet.status()[name]["pid"]


def script_processes(request):
    return [line for line in processes().values() if f"/skills/{request.skill}/" in line]


class Called:
    """A run in a thread of its own, and how long after a fault it was answered."""

    def __init__(self, fleet, request, **options):
        self.request, self.fleet, self.started_on = request, fleet, []
        runner = fleet.runner(on_start=self.started_on.append, **options)
        self.pool = ThreadPoolExecutor(1)
        self.future = self.pool.submit(runner.run, request)
        fleet.wait_for_start(request)
        self.worker = self.started_on[0].partition("/")[0]

    def answer(self, seconds=ANSWER):
        began = time.monotonic()
        result = self.future.result(timeout=seconds)
        self.fleet.answers.append(time.monotonic() - began)
        self.pool.shutdown()
        return result


@pytest.fixture(autouse=True)
def slowest_answer(fleet, record_property):
    """For `benchmarks.fleet.faults`: how long the callers of a test waited after its fault."""
    fleet.answers.clear()
    yield
    record_property("slowest_answer", max(fleet.answers, default=0.0))


def test_a_killed_worker_is_told_and_its_script_is_not_started_again(fleet, machines):
    called = Called(fleet, fleet.request(SLEEPS))
    os.kill(pid_of(fleet, called.worker), signal.SIGKILL)
    result = called.answer()
    assert (result.outcome, "may have run" in result.message) == (Outcome.LOST, True)
    wait_until(lambda: not script_processes(called.request))
    assert fleet.starts(called.request) == 1
    assert fleet.runner().run(fleet.request()).outcome is Outcome.EXITED


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
    address = fleet.status()[called.worker]["address"]
    frozen = [pid_of(fleet, called.worker)]
    if what == "machine":
        frozen += [fleet.cluster.raylet(address), fleet.cluster.machines[address].pid]
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)
    began = time.monotonic()
    result = called.answer()
    assert (result.outcome, "silent" in result.message) == (Outcome.LOST, True), time.monotonic() - began
    assert fleet.runner().run(fleet.request()).outcome is Outcome.EXITED
    assert fleet.status()[called.worker]["state"] == "silent"
    for pid in frozen:
        os.kill(pid, signal.SIGCONT)
    wait_until(lambda: fleet.status()[called.worker]["state"] == "ready")
    assert fleet.starts(called.request) == 1
    fleet.ray.kill(fleet.workers[called.worker])
    wait_until(lambda: not script_processes(called.request))


def test_a_dispatcher_that_dies_loses_no_run(fleet, machines):
    dispatcher = get_dispatcher(fleet.ray)
    before = fleet.ray.get(dispatcher.status.remote())["started"]
    running = [Called(fleet, fleet.request("import time; time.sleep(4); print('done')")) for _ in range(8)]
    waiting = [fleet.request("print('waited')") for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        runner = fleet.runner(tenant="waits")
        futures = [pool.submit(runner.run, request) for request in waiting]
        status = lambda: fleet.ray.get(dispatcher.status.remote())["tenants"].get("waits", {})  # noqa: E731
        wait_until(lambda: status().get("waiting") == 4)
        (pid,) = (pid for pid, line in processes().items() if line.startswith("ray::Dispatcher"))
        os.kill(pid, signal.SIGKILL)
        assert [call.answer(60).stdout.data for call in running] == [b"done\n"] * 8
        assert [future.result(60).stdout.data for future in futures] == [b"waited\n"] * 4
    assert [fleet.starts(request) for request in waiting] == [1] * 4
    assert [fleet.starts(call.request) for call in running] == [1] * 8
    assert fleet.ray.get(get_dispatcher(fleet.ray).status.remote())["started"] > before


CLIENT = """
import pickle, sys
from pathlib import Path
from skillkit.fleet.runner import RayRunner
folder = Path(sys.argv[1])
runner = RayRunner(sys.argv[2], keys=folder / "keys", shared_paths=[folder])
for request in pickle.loads((folder / "requests").read_bytes()):
    runner.run(request)
"""


def test_a_client_that_is_killed_ends_its_runs(fleet, machines):
    first, request = fleet.request(), fleet.request(SLEEPS)  # the second runs in the slot of the first
    (fleet.folder / "requests").write_bytes(pickle.dumps([first, request]))
    client = subprocess.Popen([sys.executable, "-c", CLIENT, str(fleet.folder), ADDRESS])
    fleet.wait_for_start(request)
    wait_until(lambda: script_processes(request))
    client.kill()
    client.wait()
    wait_until(lambda: not script_processes(request), ANSWER, "the end of the script")
    assert fleet.starts(request) == 1
    wait_until(lambda: sum(worker["running"] for worker in fleet.status().values()) == 0)


def test_a_full_disk_is_an_answer_and_the_machine_goes_on(fleet, machines):
    fleet.stop_workers()
    small = Path(tempfile.mkdtemp(prefix="small-", dir=fleet.folder))
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m,mode=755", "tmpfs", str(small)], check=True)
    try:
        fleet.start_worker("127.0.0.2", home=str(small / "home"))
        assert fleet.runner().run(fleet.request()).outcome is Outcome.EXITED
        (small / "fill").write_bytes(bytes(os.statvfs(small).f_bavail * os.statvfs(small).f_bsize - 4096))
        request = fleet.request()
        (request.base_dir / "large").write_bytes(bytes(100_000))
        full = replace(request, digest=DigestMemo().with_links(request.base_dir).digest)
        result = fleet.runner().run(full)
        assert (result.outcome, "No space left" in result.message) == (Outcome.BROKEN, True), result
        assert fleet.starts(full) == 0
        (small / "fill").unlink()
        assert fleet.runner().run(full).outcome is Outcome.EXITED
    finally:
        fleet.stop_workers()
        subprocess.run(["umount", "-l", str(small)], check=True)


def test_a_killed_raylet_is_told_and_leaves_nothing(fleet, machines):
    called = Called(fleet, fleet.request(SLEEPS))
    address = fleet.status()[called.worker]["address"]
    os.kill(fleet.cluster.raylet(address), signal.SIGKILL)
    assert called.answer().outcome is Outcome.LOST
    wait_until(lambda: not script_processes(called.request))
    assert fleet.starts(called.request) == 1
    assert fleet.runner().run(fleet.request()).outcome is Outcome.EXITED


def test_a_tree_that_was_tampered_with_in_the_store_is_not_run(fleet, machines):
    fleet.stop_workers()
    store = fleet.folder / f"trees-{uuid.uuid4().hex}"
    fleet.start_worker("127.0.0.2", trees=str(store))
    # Other trees in every round: one that a machine holds already would not be fetched.
    request = fleet.request(f"print('right')  # {store.name}")
    other = fleet.request(f"print('wrong')  # {store.name}")
    open_tree_store(str(store)).put(request.digest, pack_tree(other.base_dir))
    result = fleet.runner().run(request)
    assert (result.outcome, result.stdout.data) == (Outcome.EXITED, b"right\n"), result
    assert (fleet.starts(request), fleet.starts(other)) == (1, 0)


def test_a_worker_of_another_version_is_shown_and_not_used(fleet, machines):
    fleet.stop_workers()
    newer = fleet.start_worker("127.0.0.2", place="newer", protocol=99)
    wait_until(lambda: fleet.status()[newer]["state"] == "other version")
    usable = fleet.start_worker("127.0.0.3")
    started = []
    requests = [fleet.request() for _ in range(4)]
    for request in requests:
        fleet.runner(on_start=started.append).run(request)
    assert [fleet.starts(request) for request in requests] == [1] * 4
    assert {name.partition("/")[0] for name in started} == {usable}


def test_the_head_dies_and_everybody_is_answered(fleet, machines):
    """The last of this module: a cluster without its head is over."""
    alive = [worker for worker in fleet.status().values() if worker["state"] == "ready"]
    slots = sum(worker["slots"] for worker in alive)
    running = [Called(fleet, fleet.request(SLEEPS, limits=Limits(timeout=20))) for _ in range(slots)]
    runner = fleet.runner()
    with ThreadPoolExecutor(1) as pool:
        waiting = fleet.request()
        future = pool.submit(runner.run, waiting)
        wait_until(
            lambda: fleet.ray.get(get_dispatcher(fleet.ray).status.remote())["tenants"]["default"]["waiting"]
        )
        for pid, line in processes().items():
            if "gcs_server" in line or ("raylet/raylet " in line and "--node_ip_address=127.0.0.1 " in line):
                os.kill(pid, signal.SIGKILL)
        answered = future.result(3 * ANSWER)
    assert answered.outcome in (Outcome.BROKEN, Outcome.EXITED)
    assert fleet.starts(waiting) == (answered.outcome is Outcome.EXITED)
    outcomes = {call.answer(3 * ANSWER).outcome for call in running}
    assert outcomes <= {Outcome.TIMEOUT, Outcome.LOST}
    assert [fleet.starts(call.request) for call in running] == [1] * slots
    for call in running:
        wait_until(lambda call=call: not script_processes(call.request))
