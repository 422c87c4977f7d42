"""Programs, a gateway and machines, without Ray: at most once, everybody answered, tenants apart."""

import asyncio
import os
import pickle
import shutil
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import httpx
import pytest
from gateway_here import GatewayHere
from ray_cluster import wait_until

from skillkit.core.authority import Requester, asking_for
from skillkit.core.digest_memo import DigestMemo
from skillkit.fleet.cluster import FleetError
from skillkit.fleet.engine import Engine
from skillkit.fleet.gateway_client import GatewayClient, UnreachableError
from skillkit.fleet.operations import drain_machine, fleet_status
from skillkit.fleet.packing import pack_request, pack_tree
from skillkit.fleet.remote import RemoteRunner
from skillkit.fleet.sealing import Label
from skillkit.scripts import Outcome, ScriptRequest, ScriptResult
from skillkit.scripts.network.addresses import OFF_LIMITS

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
killed = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""A killed gateway closes no connection."""


@pytest.fixture
def fleet(tmp_path):
    os.chmod(tmp_path, 0o755)
    made = GatewayHere(tmp_path)
    made.runners = []
    made.add_worker()
    yield made
    for runner in made.runners:
        runner.close()
    made.stop()


def runner_of(fleet, tenant="acme", **options):
    key = fleet.keys.tenant(tenant).text
    runner = RemoteRunner(fleet.url, key, **{"shared_paths": [fleet.folder], **options})
    fleet.runners.append(runner)
    return runner


def request_for(fleet, source="print('hello')", **fields):
    """A request for a script of its own skill; each start leaves a file in `marks`."""
    name = f"skill-{uuid.uuid4().hex[:8]}"
    base, marks = fleet.folder / name, fleet.folder / "marks"
    (base / "scripts").mkdir(parents=True)
    marks.mkdir(exist_ok=True)
    os.chmod(marks, 0o777)
    (base / "SKILL.md").write_text(f"---\nname: {name}\ndescription: test\n---\n")
    mark = f"import uuid; open({str(marks / name)!r} + uuid.uuid4().hex, 'x').close()\n"
    (base / "scripts" / "run.py").write_text(mark + textwrap.dedent(source))
    digest = DigestMemo().with_links(base).digest
    return ScriptRequest(name, base, digest, "scripts/run.py", **{"write_paths": (marks,), **fields})


def starts(fleet, request):
    return sum(name.startswith(request.skill) for name in os.listdir(fleet.folder / "marks"))


def ready(fleet):
    return [each for each in fleet_status(fleet.url, fleet.keys_path)["machines"] if each["state"] == "ready"]


SLEEPS = "import time; time.sleep(60)"


def test_a_run_through_the_gateway_is_a_run_here(fleet):
    request = request_for(fleet, "import sys; print('out'); sys.stderr.write('err'); sys.exit(3)")
    result = runner_of(fleet).run(request)
    assert (result.outcome, result.exit_code) == (Outcome.EXITED, 3), result
    assert (result.stdout.data, result.stderr.data, result.backend) == (b"out\n", b"err", "bwrap")


async def test_cancelling_kills_the_script(fleet):
    request = request_for(fleet, SLEEPS)
    task = asyncio.ensure_future(runner_of(fleet).arun(request))
    await asyncio.to_thread(wait_until, lambda: starts(fleet, request))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    status = await asyncio.to_thread(fleet_status, fleet.url, fleet.keys_path)
    assert status["running"] == 0


@pytest.mark.parametrize("method", ["add_tree", "run"])
async def test_a_run_that_is_cancelled_on_its_way_to_a_machine_never_starts(fleet, monkeypatch, method):
    (worker,) = fleet.engine.machines.values()
    send, cancel = getattr(worker, method), worker.cancel
    sending, cancelled = threading.Event(), threading.Event()

    async def sends_slowly(*arguments):
        sending.set()
        await asyncio.to_thread(cancelled.wait, 10)
        return await send(*arguments)

    async def cancels(*arguments):
        await cancel(*arguments)
        cancelled.set()

    monkeypatch.setattr(worker, method, sends_slowly)
    monkeypatch.setattr(worker, "cancel", cancels)
    request, runner = request_for(fleet, SLEEPS), runner_of(fleet)
    if method == "run":
        await asyncio.to_thread(wait_until, lambda: ready(fleet))
        assert set((await asyncio.to_thread(runner.prepare, request)).values()) == {""}
    task = asyncio.ensure_future(runner.arun(request))
    await asyncio.to_thread(sending.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (cancelled.is_set(), starts(fleet, request)) == (True, 0)


def test_a_gateway_that_cannot_record_a_run_does_not_start_it(fleet, monkeypatch):
    def full(run):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(fleet.gateway._sent, "add", full)
    request = request_for(fleet)
    result = runner_of(fleet).run(request)
    assert (result.outcome, starts(fleet, request)) == (Outcome.BROKEN, 0)
    assert "disk is full" in result.message


def test_a_gateway_that_lost_a_task_stops_to_be_started_again(fleet, monkeypatch):
    stopped = threading.Event()

    def fails():
        raise RuntimeError("a defect")

    monkeypatch.setattr("os.kill", lambda pid, number: stopped.set())
    monkeypatch.setattr(fleet.gateway, "_read_policy", fails)
    assert stopped.wait(10)


def test_results_that_are_kept_count_among_what_a_gateway_holds(fleet, monkeypatch):
    runner = runner_of(fleet, keep_results=60.0)
    monkeypatch.setattr("skillkit.fleet.gateway.MAX_DOCUMENTS", 100_000)
    assert runner.run(request_for(fleet, "print('x' * 100_000)")).outcome is Outcome.EXITED
    result = runner.run(request_for(fleet))
    assert (result.outcome, "too many" in result.message) == (Outcome.BROKEN, True)


async def test_a_gateway_without_processes_left_tries_its_driver_again(monkeypatch):
    tried, said = [], asyncio.Event()

    async def none_left(*_, **__):
        tried.append(1)
        if len(tried) > 1:
            said.set()
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("skillkit.fleet.engine.check_head", lambda address: "")
    monkeypatch.setattr("skillkit.fleet.engine._BACK_OFF", (0.0,))
    monkeypatch.setattr("asyncio.create_subprocess_exec", none_left)
    engine = Engine("ray://127.0.0.1:1", lambda line: None)
    running = asyncio.ensure_future(engine.keep_running())
    async with asyncio.timeout(10):
        await said.wait()
    running.cancel()
    assert "temporarily" in engine.problem


def test_a_tenant_sees_only_its_own_runs_trees_and_numbers(fleet):
    names = []
    mine = runner_of(fleet, "mine", keep_results=60.0, on_start=names.append)
    assert mine.run(request_for(fleet)).outcome is Outcome.EXITED
    assert mine.collect(names[0]).outcome is Outcome.EXITED
    with pytest.raises(FleetError, match="unknown run"):
        runner_of(fleet, "other").collect(names[0])
    token = fleet.keys.tenant("other").token
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=fleet.url, headers=headers) as client:
        assert client.delete(f"/v1/runs/{names[0]}").status_code == 404
        assert client.get("/v1/status").json()["tenants"] == {}
        assert client.post("/v1/machines/x/drain").status_code == 403


@pytest.mark.parametrize("token", ["x", "acme", "acme:x:" + "0" * 64])
def test_without_the_right_key_nothing_is_answered(fleet, token):
    answer = httpx.get(f"{fleet.url}/v1/status", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 401
    wrong = RemoteRunner(fleet.url, "acme:x:" + "0" * 64, shared_paths=[fleet.folder])
    fleet.runners.append(wrong)
    assert wrong.run(request_for(fleet)).outcome is Outcome.BROKEN


def test_a_document_of_another_tenant_is_refused(fleet):
    request = request_for(fleet)
    sealed = fleet.keys.tenant("victim").seal(Label("r", "victim", request.digest), pack_request(request))
    headers = {"Authorization": f"Bearer {fleet.keys.tenant('mallory').token}"}
    answer = httpx.post(f"{fleet.url}/v1/runs", content=sealed, headers=headers)
    assert (answer.status_code, starts(fleet, request)) == (400, 0)


@killed
def test_a_gateway_that_is_away_is_an_answer_within_seconds(fleet):
    fleet.kill()
    result = runner_of(fleet, patience=0.5).run(request_for(fleet))
    assert (result.outcome, "agent fleet gateway" in result.message) == (Outcome.BROKEN, True)


@killed
def test_programs_continue_when_the_gateway_is_started_again(fleet):
    running = request_for(fleet, "import time; time.sleep(3); print('done')")
    waiting = [request_for(fleet, "print('waited')") for _ in range(8)]
    runner = runner_of(fleet, patience=30.0)
    with ThreadPoolExecutor(9) as pool:
        first = pool.submit(runner.run, running)
        wait_until(lambda: starts(fleet, running))
        others = [pool.submit(runner.run, request) for request in waiting]
        fleet.kill()
        fleet.start()
        assert first.result(60).stdout.data == b"done\n"
        ended = [each.result(60) for each in others]
        assert [each.stdout.data for each in ended] == [b"waited\n"] * 8, ended
    assert [starts(fleet, request) for request in (running, *waiting)] == [1] * 9


@pytest.fixture
def reach(monkeypatch):
    """Programs reach the gateway while all of these conditions hold, also until the end of a request."""
    conditions, ask = [], GatewayClient.ask

    def check():
        if not all(condition() for condition in conditions):
            raise UnreachableError("cut off", sent=True)

    def reached(*arguments, **options):
        check()
        answer = ask(*arguments, **options)
        check()
        return answer

    monkeypatch.setattr(GatewayClient, "ask", reached)
    return conditions


def test_a_program_cut_off_until_its_result_was_dropped_does_not_run_it_again(fleet, reach, monkeypatch):
    monkeypatch.setattr("skillkit.fleet.gateway._ANSWERED", 0.0)
    request = request_for(fleet, "import time; time.sleep(1)")
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(runner_of(fleet, patience=60.0).run, request)
        wait_until(lambda: starts(fleet, request))
        reach.append(lambda: not fleet.gateway._runs)
        result = future.result(60)
    assert (result.outcome, "may have run" in result.message) == (Outcome.LOST, True), result
    assert starts(fleet, request) == 1


@killed
def test_a_run_whose_result_was_not_fetched_is_not_repeated_by_another_gateway(fleet, reach):
    request = request_for(fleet, "import time; time.sleep(1)")
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(runner_of(fleet, patience=60.0).run, request)
        wait_until(lambda: starts(fleet, request))
        back = threading.Event()
        reach.append(back.is_set)
        wait_until(lambda: [run for run in fleet.gateway._runs.values() if run.ended])
        fleet.kill()
        fleet.start()
        back.set()
        assert future.result(60).outcome in (Outcome.LOST, Outcome.EXITED)
    assert starts(fleet, request) == 1


@pytest.mark.parametrize("started", [True, False])
def test_a_silent_program_loses_its_script_and_is_not_told_cancelled(fleet, reach, monkeypatch, started):
    monkeypatch.setattr("skillkit.fleet.gateway.PROGRAM_SILENCE", 4.0)
    request = request_for(fleet, SLEEPS if started else "print('later')")
    if not started:
        wait_until(lambda: ready(fleet))
        fleet.loop.call_soon_threadsafe(fleet.engine.machines.clear)
        wait_until(lambda: not ready(fleet))
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(runner_of(fleet, patience=60.0).run, request)
        runs = fleet.gateway._runs
        wait_until(lambda: starts(fleet, request) if started else runs)
        back = threading.Event()
        reach.append(back.is_set)
        wait_until(lambda: all(run.ended for run in list(runs.values())))
        back.set()
        if not started:
            fleet.add_worker("second")
        result = future.result(60)
    if started:
        assert (result.outcome, "was silent for 4 s" in result.message) == (Outcome.LOST, True), result
    else:
        assert result.stdout.data == b"later\n", result
    assert starts(fleet, request) == 1


def test_an_error_of_the_gateway_does_not_say_that_nothing_ran(fleet, monkeypatch):
    async def fails(*_):
        raise RuntimeError("out of order")

    request = request_for(fleet)
    monkeypatch.setattr("skillkit.fleet.gateway.Gateway.wait", fails)
    assert runner_of(fleet).run(request).outcome is Outcome.LOST


@pytest.mark.parametrize("sent", [True, False])
def test_a_gateway_that_never_answers_is_an_error_within_ten_seconds(tmp_path, monkeypatch, sent):
    now = [0.0]

    def hang(client, method, path, body=b"", *, seconds, **query):
        assert query["wait"] < seconds
        now[0] += seconds if sent else min(5.0, seconds)
        raise UnreachableError("no answer", sent=sent)

    clock = SimpleNamespace(
        monotonic=lambda: now[0], time=time.time, sleep=lambda s: now.__setitem__(0, now[0] + s)
    )
    monkeypatch.setattr("skillkit.fleet.remote.time", clock)
    monkeypatch.setattr(GatewayClient, "ask", hang)
    runner = RemoteRunner("http://127.0.0.1:1", "a:b:" + "0" * 64)
    result = runner.run(ScriptRequest("x", tmp_path, "sha256:" + "0" * 64, "run.py"))
    runner.close()
    assert result.outcome is (Outcome.LOST if sent else Outcome.BROKEN)
    assert now[0] <= 10.0


def test_runs_that_wait_while_the_driver_is_away_start_when_it_is_back(fleet):
    wait_until(lambda: ready(fleet))
    fleet.loop.call_soon_threadsafe(fleet.engine.die)
    wait_until(lambda: fleet.engine.problem)
    requests = [request_for(fleet) for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        futures = [pool.submit(runner_of(fleet).run, request) for request in requests]
        tenant = lambda: fleet_status(fleet.url, fleet.keys_path)["tenants"].get("acme", {})  # noqa: E731
        wait_until(lambda: tenant().get("waiting") == 6)
        fleet.loop.call_soon_threadsafe(fleet.engine.come_back)
        assert {future.result(60).outcome for future in futures} == {Outcome.EXITED}
    assert [starts(fleet, request) for request in requests] == [1] * 6


def test_runs_that_wait_while_the_driver_stays_away_are_told_so(fleet, monkeypatch):
    wait_until(lambda: ready(fleet))
    monkeypatch.setattr("skillkit.fleet.gateway.STRANDED", 1.0)
    fleet.loop.call_soon_threadsafe(fleet.engine.die)
    wait_until(lambda: fleet.engine.problem)
    result = runner_of(fleet).run(request_for(fleet))
    assert (result.outcome, "no ready machine" in result.message) == (Outcome.BROKEN, True), result


def test_a_driver_that_dies_loses_no_run(fleet):
    running = request_for(fleet, "import time; time.sleep(2); print('done')")
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(runner_of(fleet).run, running)
        wait_until(lambda: starts(fleet, running))
        fleet.loop.call_soon_threadsafe(fleet.engine.die)
        second = pool.submit(runner_of(fleet).run, request_for(fleet))
        fleet.loop.call_soon_threadsafe(fleet.engine.come_back)
        assert first.result(60).stdout.data == b"done\n"
        assert second.result(60).outcome is Outcome.EXITED
    assert starts(fleet, running) == 1


def test_a_lost_machine_is_named_and_its_script_is_not_started_again(fleet):
    request = request_for(fleet, SLEEPS)
    (name,) = fleet.engine.machines
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(runner_of(fleet).run, request)
        wait_until(lambda: starts(fleet, request))
        worker = fleet.engine.machines[name]
        fleet.loop.call_soon_threadsafe(fleet.engine.lose, name)
        result = future.result(60)
    assert (result.outcome, "the script may have run" in result.message) == (Outcome.LOST, True), result
    assert os.uname().nodename in result.message
    assert starts(fleet, request) == 1
    shown = lambda: fleet_status(fleet.url, fleet.keys_path)["machines"][0]  # noqa: E731
    wait_until(lambda: shown()["state"] == "missing")
    assert shown()["host"] == os.uname().nodename
    assert "systemctl restart" in shown()["remedy"]
    assert drain_machine(fleet.url, shown()["host"], 5, fleet.keys_path) == [name]
    assert fleet_status(fleet.url, fleet.keys_path)["machines"] == []
    for run in list(worker._running):
        fleet.do(worker.cancel(run))


def test_what_is_safe_to_retry_is_tried_again(fleet):
    flag = fleet.folder / "marks" / "retried"
    source = f"""
        import os, time
        if not os.path.exists({str(flag)!r}):
            open({str(flag)!r}, "x").close()
            time.sleep(60)
        print("second time")
        """
    request = request_for(fleet, source, retry_safe=True)
    (name,) = fleet.engine.machines
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(runner_of(fleet).run, request)
        wait_until(flag.exists)
        worker = fleet.engine.machines[name]
        fleet.add_worker("second")
        fleet.loop.call_soon_threadsafe(fleet.engine.lose, name)
        result = future.result(60)
        assert result.stdout.data == b"second time\n", result
    wait_until(lambda: len(fleet_status(fleet.url, fleet.keys_path)["machines"]) == 1)  # none is missing
    for run in list(worker._running):
        fleet.do(worker.cancel(run))


class FailsFast:
    """A machine that says of everything that it cannot be started there, and is well otherwise."""

    def __init__(self, worker):
        self._worker = worker

    def __getattr__(self, name):
        return getattr(self._worker, name)

    async def run(self, sealed):
        return "unfit", "No space left on device"

    async def beat(self, state, *news):
        facts = await self._worker.beat("ready", *news)
        return {**facts, "unfit": "No space left on device" if state == "unfit" else ""}


def test_a_machine_on_which_nothing_starts_swallows_no_runs(fleet):
    bad = fleet.add_worker("bad")
    fleet.engine.machines[bad] = FailsFast(fleet.engine.machines[bad])
    request, runner = request_for(fleet), runner_of(fleet)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(runner.run, [request] * 30))
    assert {result.outcome for result in results} == {Outcome.EXITED}
    assert starts(fleet, request) == 30
    states = {each["name"]: each["state"] for each in fleet_status(fleet.url, fleet.keys_path)["machines"]}
    assert (states[bad], fleet.engine.calls.count((bad, "run")) < 30) == ("unfit", True)


def test_another_tree_than_the_approved_one_is_not_run_and_no_machine_is_blamed(fleet):
    request, other = request_for(fleet), request_for(fleet)
    headers = {"Authorization": f"Bearer {fleet.keys.tenant('acme').token}"}
    upload = lambda: httpx.put(  # noqa: E731
        f"{fleet.url}/v1/trees/{request.digest}", content=pack_tree(other.base_dir), headers=headers
    )
    for _ in range(4):
        assert upload().status_code == 204
        assert runner_of(fleet).run(request).outcome is Outcome.BROKEN
    assert (starts(fleet, request), starts(fleet, other)) == (0, 0)
    (machine,) = fleet_status(fleet.url, fleet.keys_path)["machines"]
    assert machine["state"] == "ready"
    assert runner_of(fleet).run(request).outcome is Outcome.EXITED


def test_a_run_is_tried_once_a_machine_and_waits_for_a_busy_one(fleet):
    wait_until(lambda: ready(fleet))
    busy = [request_for(fleet, "import time; time.sleep(4)") for _ in range(4)]
    with ThreadPoolExecutor(5) as pool:
        futures = [pool.submit(runner_of(fleet).run, request) for request in busy]
        wait_until(lambda: all(starts(fleet, request) for request in busy))
        bad = fleet.add_worker("bad")
        fleet.engine.machines[bad] = FailsFast(fleet.engine.machines[bad])
        wait_until(lambda: len(ready(fleet)) == 2)
        assert runner_of(fleet).run(request_for(fleet)).outcome is Outcome.EXITED
        assert {future.result(60).outcome for future in futures} == {Outcome.EXITED}
    assert fleet.engine.calls.count((bad, "run")) == 1


def test_runs_that_start_nowhere_close_no_machine_for_others(fleet):
    fleet.add_worker("second")
    wait_until(lambda: len(ready(fleet)) == 2)
    runner = runner_of(fleet, "mallory")
    for _ in range(3):
        result = runner.run(request_for(fleet, arguments=("x" * 3_000_000,)))
        assert result.outcome is Outcome.BROKEN, result
        assert len(ready(fleet)) == 2


def test_an_unfit_machine_returns_once_a_script_runs_there(fleet, monkeypatch):
    (first,) = fleet.engine.machines
    wait_until(lambda: ready(fleet))
    fleet.add_worker("second")
    wait_until(lambda: len(ready(fleet)) == 2)
    worker = fleet.engine.machines[first]
    run, probes, well = worker._runner.run, [], threading.Event()

    def fails(request):
        probes.append(request)
        return run(request) if well.is_set() else ScriptResult(Outcome.BROKEN, "bwrap", message="no pids")

    async def broken(request):
        return fails(request)

    monkeypatch.setattr(worker._runner, "run", fails)
    monkeypatch.setattr(worker._runner, "arun", broken)
    runner, request = runner_of(fleet), request_for(fleet)
    machines = lambda: {each["name"]: each for each in fleet_status(fleet.url, fleet.keys_path)["machines"]}  # noqa: E731
    assert runner.run(request).outcome is Outcome.EXITED
    wait_until(lambda: sum(each.skill == "probe" for each in probes) > 1)
    assert (machines()[first]["state"], machines()[first]["reason"]) == ("unfit", "no pids")
    well.set()
    wait_until(lambda: machines()[first]["state"] == "ready")


@pytest.mark.parametrize(
    "result",
    [
        ScriptResult(Outcome.REFUSED, "none", message="No sandbox works here"),
        ScriptResult(Outcome.DEPENDENCY, "bwrap", message="uv: No space left on device (os error 28)"),
    ],
    ids=["sandbox", "environment"],
)
def test_what_is_wrong_with_a_machine_is_tried_elsewhere(fleet, monkeypatch, result):
    (first,) = fleet.engine.machines
    wait_until(lambda: ready(fleet))
    fleet.add_worker("second")
    wait_until(lambda: len(ready(fleet)) == 2)

    async def broken(_):
        return result

    monkeypatch.setattr(fleet.engine.machines[first]._runner, "arun", broken)
    assert runner_of(fleet).run(request_for(fleet)).outcome is Outcome.EXITED
    assert (first, "run") in fleet.engine.calls


def test_a_folder_that_cannot_be_written_makes_a_machine_unfit(fleet, monkeypatch):
    wait_until(lambda: ready(fleet))
    monkeypatch.setattr("tempfile.tempdir", str(fleet.folder / "keys" / "tmp"))
    wait_until(lambda: not ready(fleet))
    (machine,) = fleet_status(fleet.url, fleet.keys_path)["machines"]
    assert "keys/tmp" in machine["reason"]


def test_a_dependency_that_is_missing_names_the_machine(fleet):
    base = request_for(fleet).base_dir
    script = base / "scripts" / "run.py"
    script.write_text('# /// script\n# requires-python = ">=9"\n# ///\n')
    request = ScriptRequest(base.name, base, DigestMemo().with_links(base).digest, "scripts/run.py")
    result = runner_of(fleet).run(request)
    assert result.outcome is Outcome.DEPENDENCY
    assert result.message.endswith(f"(on {os.uname().nodename})")


def test_where_nothing_starts_anywhere_the_answer_names_the_machine(fleet):
    (name,) = fleet.engine.machines
    fleet.engine.machines[name] = FailsFast(fleet.engine.machines[name])
    result = runner_of(fleet).run(request_for(fleet))
    assert result.outcome is Outcome.BROKEN
    assert f"No space left on device (on {os.uname().nodename})" in result.message


def test_a_machine_with_a_full_disk_is_unfit_and_says_why(fleet):
    full = fleet.add_worker("full", min_free=1 << 62)
    wait_until(lambda: len(fleet_status(fleet.url, fleet.keys_path)["machines"]) == 2)
    machines = lambda: {each["name"]: each for each in fleet_status(fleet.url, fleet.keys_path)["machines"]}  # noqa: E731
    wait_until(lambda: machines()[full]["state"] == "unfit")
    assert "MiB free" in machines()[full]["reason"]
    runner = runner_of(fleet)
    assert {runner.run(request_for(fleet)).outcome for _ in range(4)} == {Outcome.EXITED}
    assert (full, "run") not in fleet.engine.calls


def test_a_drained_machine_gets_nothing_more(fleet):
    (name,) = fleet.engine.machines
    fleet.add_worker("second")
    wait_until(
        lambda: (
            [each["state"] for each in fleet_status(fleet.url, fleet.keys_path)["machines"]] == ["ready"] * 2
        )
    )
    with ThreadPoolExecutor(1) as pool:
        drained = pool.submit(drain_machine, fleet.url, name, 60, fleet.keys_path)
        wait_until(lambda: asyncio.run(fleet.engine.machines[name].presence())[2])
        fleet.loop.call_soon_threadsafe(fleet.engine.lose, name)
        assert drained.result(60) == [name]
    before = fleet.engine.calls.count((name, "run"))
    assert runner_of(fleet).run(request_for(fleet)).outcome is Outcome.EXITED
    assert fleet.engine.calls.count((name, "run")) == before
    with pytest.raises(FleetError, match="No machine is called 'absent'"):
        drain_machine(fleet.url, "absent", 1, fleet.keys_path)


PROGRAM = """
import pickle, sys
from pathlib import Path
from skillkit.fleet.packing import pack_request, pack_tree
from skillkit.fleet.remote import RemoteRunner
folder = Path(sys.argv[1])
RemoteRunner(sys.argv[2], sys.argv[3], shared_paths=[folder]).run(pickle.loads((folder / "r").read_bytes()))
"""


def test_a_program_that_dies_ends_its_runs(fleet, monkeypatch):
    monkeypatch.setattr("skillkit.fleet.gateway.PROGRAM_SILENCE", 1.0)
    request = request_for(fleet, SLEEPS)
    (fleet.folder / "r").write_bytes(pickle.dumps(request))
    key = fleet.keys.tenant("acme").text
    program = subprocess.Popen([sys.executable, "-c", PROGRAM, str(fleet.folder), fleet.url, key])
    wait_until(lambda: starts(fleet, request))
    program.kill()
    program.wait()
    wait_until(lambda: fleet_status(fleet.url, fleet.keys_path)["running"] == 0)


def test_one_program_serves_several_tenants_with_a_key_for_each(fleet):
    keys = {name: fleet.keys.tenant(name).text for name in ("a", "b")}
    runner = RemoteRunner(fleet.url, keys, shared_paths=[fleet.folder])
    fleet.runners.append(runner)
    for name in keys:
        with asking_for(Requester(tenant=name)):
            assert runner.run(request_for(fleet)).outcome is Outcome.EXITED
    with asking_for(Requester(tenant="c")):
        assert "no key of tenant 'c'" in runner.run(request_for(fleet)).message
    assert set(fleet_status(fleet.url, fleet.keys_path)["tenants"]) == {"a", "b"}


def test_a_tree_that_was_forgotten_is_uploaded_again(fleet, monkeypatch):
    monkeypatch.setattr("skillkit.fleet.gateway.MAX_TREES", 1)
    requests = [request_for(fleet) for _ in range(3)]
    runner = runner_of(fleet)
    assert {runner.run(request).outcome for request in requests} == {Outcome.EXITED}
    assert len(fleet.gateway._trees) == 1
    (name,) = fleet.engine.machines
    fleet.add_worker("second")
    fleet.loop.call_soon_threadsafe(fleet.engine.lose, name)
    assert {runner.run(request).outcome for request in requests} == {Outcome.EXITED}


def test_what_no_machine_can_answer_is_answered(fleet):
    (name,) = fleet.engine.machines

    class Liar(FailsFast):
        async def run(self, sealed):
            return "no pair, but three words".split()

    fleet.engine.machines[name] = Liar(fleet.engine.machines[name])
    result = runner_of(fleet).run(request_for(fleet))
    assert (result.outcome, "may have run" in result.message) == (Outcome.LOST, True)


def test_a_host_that_is_granted_by_name_is_refused_where_it_is_the_cluster(fleet):
    source = f"""
        import socket
        with socket.create_connection(("localhost", {fleet.port}), 5) as connection:
            connection.sendall(b"GET /healthz HTTP/1.0\\r\\n\\r\\n")
            print(len(connection.recv(1)))
        """
    request = request_for(fleet, source, private_hosts=(f"localhost:{fleet.port}",))
    assert runner_of(fleet).run(request).stdout.data == b"1\n"
    fleet.engine.addresses = ["127.0.0.1"]
    wait_until(lambda: "127.0.0.1" in OFF_LIMITS)
    try:
        refused = runner_of(fleet).run(request)
    finally:
        OFF_LIMITS.clear()
    assert refused.stdout.data in (b"", b"0\n"), refused
    assert "127.0.0.1, an address inside this network" in str(refused)


def test_the_whole_network_does_not_reach_the_cluster(fleet):
    source = f"""
        import socket
        for address in (("127.0.0.1", {fleet.port}), ("localhost", {fleet.port})):
            try:
                socket.create_connection(address, 2).close()
                print("reached")
            except OSError:
                print("refused")
        """
    result = runner_of(fleet).run(request_for(fleet, source, network=True))
    assert (result.outcome, result.stdout.data) == (Outcome.EXITED, b"refused\n" * 2), result
