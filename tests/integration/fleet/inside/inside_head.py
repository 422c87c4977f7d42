"""The head dies: no program ends, every run is answered, and a new head is joined without a person."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor

from fleet_machines import running_fleet
from ray_cluster import processes, wait_until

from skillkit.core.grants import Limits
from skillkit.scripts import Outcome


def ready(fleet):
    return [each for each in fleet.machines().values() if each["state"] == "ready"]


def test_the_head_dies_and_every_program_continues():
    with running_fleet(driver=False) as fleet, fleet.serving() as codes:
        wait_until(lambda: ready(fleet), 120, "the machine")
        runner = fleet.runner(patience=60.0)
        sleeping = [
            fleet.request("import time; time.sleep(600)", limits=Limits(timeout=20)) for _ in range(4)
        ]
        waiting = fleet.request()
        with ThreadPoolExecutor(5) as pool:
            running = [pool.submit(runner.run, request) for request in sleeping]
            for request in sleeping:
                fleet.wait_for_start(request)
            last = pool.submit(runner.run, waiting)
            wait_until(lambda: fleet.tenant("default")["waiting"])
            for pid, line in processes().items():
                if "gcs_server" in line or "raylet/raylet " in line:
                    os.kill(pid, signal.SIGKILL)
            assert {each.result(180).outcome for each in running} <= {Outcome.LOST, Outcome.TIMEOUT}
            wait_until(lambda: codes, 180, "the end of the worker")
            fleet.cluster.machines["127.0.0.1"].kill()
            fleet.cluster.machines["127.0.0.1"].wait()
            fleet.cluster.start_head()
            answered = last.result(180)
            assert answered.outcome in (Outcome.EXITED, Outcome.BROKEN), answered
            assert fleet.starts(waiting) == (answered.outcome is Outcome.EXITED)
            wait_until(lambda: ready(fleet), 180, "the machine again")
            assert runner.run(fleet.request()).outcome is Outcome.EXITED
        assert [fleet.starts(request) for request in sleeping] == [1] * 4
