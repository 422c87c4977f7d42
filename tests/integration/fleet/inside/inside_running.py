"""A run on a fleet is a run here: results, limits, grants, trees, output, cancelling, versions."""

import asyncio
import os
import pickle
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from fleet_machines import ADDRESS, AGENT, URL
from ray_cluster import processes, wait_until

from skillkit.core.grants import Limits
from skillkit.fleet.cluster import FleetError
from skillkit.fleet.operations import drain_machine
from skillkit.fleet.packing import pack_request, pack_tree
from skillkit.fleet.sealing import FleetKeys, Label, add_key
from skillkit.scripts import LocalRunner, Outcome
from skillkit.scripts.inputs import InputFile
from skillkit.scripts.workspace import SandboxedWorkspace

pytestmark = pytest.mark.usefixtures("machines")


def same(result):
    """What of a result does not depend on when and where."""
    return (result.outcome, result.exit_code, result.stdout, result.stderr, result.message, result.files)


@pytest.mark.parametrize(
    ("source", "fields"),
    [
        ("print('hello')", {}),
        ("import sys; sys.stderr.write('no'); sys.exit(3)", {}),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", {}),
        ("import time; print(1, flush=True); time.sleep(60)", {"limits": Limits(timeout=1.0)}),
        ("print('x' * 3_000_000)", {"limits": Limits(output=1000)}),
        (
            "import os; print(os.environ['KEY'], os.environ.get('RAY_AUTH_TOKEN'))",
            {"environment": {"KEY": "v"}},
        ),
        ("import sys; print(sys.argv[1:], open('/input/a').read())", {"arguments": ("ü", "--json")}),
        ("import os; open(os.environ['SKILL_OUTPUT_DIR'] + '/made.txt', 'w').write('made')", {}),
        ("import socket; socket.create_connection(('127.0.0.1', 6399))", {}),
        ("import os; print(os.getpriority(os.PRIO_PROCESS, 0))", {}),
    ],
    ids=[
        *("prints", "fails", "signal", "timeout", "long"),
        *("environment", "inputs", "outputs", "network", "priority"),
    ],
)
def test_the_same_result_as_on_this_machine(fleet, source, fields):
    request = fleet.request(source, **fields)
    (fleet.folder / "handed").write_text("handed over")
    request = replace(request, inputs=(InputFile("a", fleet.folder / "handed"),))
    local = LocalRunner(fleet.folder / "local", sandbox="bwrap")
    here = local.run(request)
    there = fleet.runner().run(request)
    local.close()
    places = (str(request.base_dir).encode(), f"/skills/{request.skill}".encode())
    assert same(replace(there, stderr=here.stderr)) == same(here), there
    assert there.stderr.data.replace(places[1], places[0]) == here.stderr.data
    assert there.backend == here.backend == "bwrap"


def test_a_granted_path_of_this_machine_is_refused_and_named(fleet):
    request = fleet.request(read_paths=(Path("/srv/data"),))
    result = fleet.runner().run(request)
    assert result.outcome is Outcome.REFUSED
    assert "/srv/data is on this machine" in result.message
    assert fleet.runner().run(fleet.request(project=Path("/srv/project"))).outcome is Outcome.REFUSED
    assert fleet.starts(request) == 0


async def test_a_workspace_on_the_fleet_lasts_from_one_command_to_the_next(fleet):
    workspace = SandboxedWorkspace(fleet.runner(), folder=fleet.folder)
    made = await workspace.run("echo one > file && hostname > /dev/null")
    assert made.exit_code == 0, made
    again = await workspace.run("cat file && echo two >> file")
    assert (again.exit_code, again.stdout.data) == (0, b"one\n"), again
    assert workspace.read("file") == b"one\ntwo\n"
    workspace.close()


def test_a_script_never_runs_without_a_sandbox(fleet):
    result = fleet.runner().run(fleet.request(unsandboxed=True))
    assert result.backend == "bwrap"


def test_other_bytes_than_the_digest_are_never_run(fleet):
    request = fleet.request()
    (request.base_dir / "scripts" / "run.py").write_text("print('other')")
    result = fleet.runner().run(request)
    assert result.outcome is Outcome.REFUSED
    assert "changed after this run was approved" in result.message
    assert fleet.starts(request) == 0


async def test_cancelling_kills_the_script_wherever_it_is(fleet):
    request = fleet.request("import time; time.sleep(600)")
    task = asyncio.ensure_future(fleet.runner().arun(request))
    await asyncio.to_thread(fleet.wait_for_start, request)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not [line for line in processes().values() if request.skill in line]


async def test_a_run_that_waits_can_be_cancelled_and_never_starts(fleet):
    runner = fleet.runner(tenant="cancels")
    blocking = [fleet.request("import time; time.sleep(600)") for _ in range(8)]
    tasks = [asyncio.ensure_future(runner.arun(request)) for request in blocking]
    for request in blocking:
        await asyncio.to_thread(fleet.wait_for_start, request)
    waiting = fleet.request()
    task = asyncio.ensure_future(runner.arun(waiting))
    status = lambda: fleet.tenant("cancels")  # noqa: E731
    await asyncio.to_thread(wait_until, lambda: status()["waiting"] == 1)
    for each in (task, *tasks):
        each.cancel()
    await asyncio.gather(task, *tasks, return_exceptions=True)
    await asyncio.to_thread(wait_until, lambda: status()["waiting"] == status()["running"] == 0)
    assert fleet.starts(waiting) == 0


def test_a_skill_can_be_brought_to_every_machine_before_it_is_asked_for(fleet, machines):
    request = fleet.request("print('prepared')")
    prepared = fleet.runner().prepare(request)
    assert (len(prepared), set(prepared.values())) == (len(machines), {""})
    assert fleet.starts(request) == 0
    (request.base_dir / "SKILL.md").unlink()  # the client could not send it any more
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(fleet.runner().run, [request] * 8))
    assert {result.stdout.data for result in results} == {b"prepared\n"}


def test_a_replayed_an_altered_and_a_foreign_request_are_refused(fleet, machines, tmp_path):
    keys = FleetKeys.read(fleet.keys)
    request = fleet.request()
    name, other = machines.values()
    label, content = Label("run", "tenant", request.digest, worker=name), pack_request(request)
    sealed, worker = keys.seal(label, content), fleet.workers[name]
    fleet.ray.get(worker.add_tree.remote(request.digest, pack_tree(request.base_dir)))
    assert fleet.ray.get(worker.run.remote(sealed))[0] == "result"
    started = fleet.starts(request)
    add_key(tmp_path / "foreign")
    foreign = FleetKeys.read(tmp_path / "foreign").seal(label, content)
    altered = keys.seal(label, content).replace(b'"tenant"', b'"others"')
    for wrong, target in (
        (sealed, worker),
        (sealed, fleet.workers[other]),
        (foreign, worker),
        (altered, worker),
    ):
        assert fleet.ray.get(target.run.remote(wrong))[0] == "unfit"
    assert fleet.starts(request) == started == 1


def test_nothing_of_a_request_is_in_any_file_of_the_cluster(fleet):
    request = fleet.request("print('x' * 300_000)", environment={"KEY": "hunter2-in-a-grant"})
    request = replace(request, arguments=("hunter2-as-argument",))
    assert fleet.runner().run(request).outcome is Outcome.EXITED
    found = [
        path
        for path in (fleet.folder / "ray").rglob("*")
        if path.is_file() and b"hunter2" in path.read_bytes()
    ]
    assert found == []


async def test_a_drained_machine_finishes_and_a_rolling_change_loses_no_run(fleet, machines):
    first = next(iter(machines.values()))
    runner = fleet.runner()
    requests = [fleet.request("import time; time.sleep(0.3); print('done')") for _ in range(16)]
    tasks = [asyncio.ensure_future(runner.arun(request)) for request in requests]
    await asyncio.to_thread(wait_until, lambda: sum(map(fleet.starts, requests)) > 2)
    await fleet.workers[first].finish.remote()
    results = await asyncio.gather(*tasks)
    assert {result.outcome for result in results} == {Outcome.EXITED}
    assert [fleet.starts(request) for request in requests] == [1] * 16


@pytest.mark.parametrize("how", ["drain", "signal"])
def test_a_machine_leaves_while_runs_come_and_none_is_lost(fleet, machines, how):
    home = {"AGENT_HOME": str(fleet.folder / "leaving")}
    command = [AGENT, "fleet", "worker", "--address", ADDRESS]
    serving = subprocess.Popen(command, env={**fleet.environment, **home})
    ready = lambda: {name for name, each in fleet.machines().items() if each["state"] == "ready"}  # noqa: E731
    (name,) = wait_until(lambda: ready() - set(machines.values()), 60, "the machine")
    request, runner = fleet.request("import time; time.sleep(0.1)"), fleet.runner()
    with ThreadPoolExecutor(6) as pool:
        first = [pool.submit(runner.run, request) for _ in range(20)]
        wait_until(lambda: fleet.machines()[name]["running"])
        if how == "drain":
            assert drain_machine(URL, name, 60, fleet.keys) == [name]
        else:
            serving.send_signal(signal.SIGTERM)
        second = [pool.submit(runner.run, request) for _ in range(40)]
        assert {each.result().outcome for each in first + second} == {Outcome.EXITED}
    assert serving.wait(30) == 0
    assert fleet.starts(request) == 60
    wait_until(lambda: set(fleet.machines()) == set(machines.values()))


async def test_five_runs_of_one_tenant_behind_many_of_another_start_early(fleet):
    many, few = fleet.runner(tenant="many"), fleet.runner(tenant="few")
    first, second = fleet.request(), fleet.request()
    tasks = [asyncio.ensure_future(many.arun(first)) for _ in range(60)]
    await asyncio.to_thread(wait_until, lambda: fleet.starts(first) > 0)
    tasks += [asyncio.ensure_future(few.arun(second)) for _ in range(5)]
    results = await asyncio.gather(*tasks)
    assert {result.outcome for result in results} == {Outcome.EXITED}
    names = (first.skill, second.skill)
    marks = [mark for mark in os.scandir(fleet.marks) if mark.name.startswith(names)]
    marks.sort(key=lambda mark: mark.stat().st_mtime_ns)
    text = "".join("f" if mark.name.startswith(second.skill) else "m" for mark in marks)
    assert (len(text), text.count("f")) == (65, 5)
    assert text[text.index("f") :][:20].count("f") == 5


CLIENT = """
import pickle, sys
from pathlib import Path
from skillkit.fleet.remote import RemoteRunner
from skillkit.fleet.sealing import FleetKeys
folder = Path(sys.argv[1])
RemoteRunner(
    sys.argv[2],
    FleetKeys.read(folder / "keys").tenant("keeps").text,
    shared_paths=[folder],
    keep_results=60.0,
    on_start=(folder / "marks" / "kept").write_text,
).run(pickle.loads((folder / "request").read_bytes()))
"""


def test_a_kept_result_outlives_its_client(fleet):
    request = fleet.request("import time; time.sleep(1); print('kept')")
    (fleet.folder / "request").write_bytes(pickle.dumps(request))
    client = subprocess.Popen([sys.executable, "-c", CLIENT, str(fleet.folder), URL])
    fleet.wait_for_start(request)
    name = (fleet.marks / "kept").read_text()
    client.kill()
    client.wait()
    result = fleet.runner("keeps").collect(name)
    assert (result.outcome, result.stdout.data) == (Outcome.EXITED, b"kept\n")
    for runner, other in (("keeps", "nothing"), ("default", name)):
        with pytest.raises(FleetError, match="unknown run"):
            fleet.runner(runner).collect(other)
