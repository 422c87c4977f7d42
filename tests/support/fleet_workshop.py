"""Skills whose scripts run on the machines of a fleet; the machines see the network of the tests."""

import json
import os
import shutil
import socketserver
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fleet_machines import Fleet, running_fleet
from ray_cluster import processes
from workshop import FixedGrants, Workshop

from skillkit.scripts import Grants, Limits, ScriptTools
from skillkit.scripts.network import gateway


class NameServer(socketserver.ThreadingTCPServer):
    """Answers the machines with what `gateway.resolve` of this process says, replaced by a test or not."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), NameRequest)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class NameRequest(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        name, port, private = json.loads(self.rfile.readline())
        try:
            answer: Any = gateway.resolve(name, port, private=private)
        except OSError as error:
            answer = str(error)
        self.wfile.write(json.dumps(answer).encode())


def network_of_tests(port: int, environment: dict[str, str]) -> Callable[[Any], None]:
    """Return what makes a machine ask the tests for names, and trust the certificates that they trust.

    A function within a function: machines do not have this module.
    """

    def use_network(_: Any) -> None:
        import json
        import os
        import socket

        from skillkit.scripts.network import gateway

        def resolve(name: str, wanted: int, *, private: bool) -> list[tuple[str, int]]:
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.sendall(json.dumps([name, wanted, private]).encode() + b"\n")
                answer = json.loads(connection.makefile().read())
            if isinstance(answer, str):
                raise OSError(answer)
            return [(address, found) for address, found in answer]

        gateway.resolve = resolve
        os.environ.pop("SSL_CERT_FILE", None)
        os.environ.update(environment)

    return use_network


@dataclass
class FleetWorkshop(Workshop):
    """Makes tools whose runner is the fleet."""

    fleet: Any = None
    names: Any = None

    def tools(self, grants: Grants | None = None, *, limits: Limits | None = None, **_: Any) -> ScriptTools:
        trusted = {key: value for key, value in os.environ.items() if key == "SSL_CERT_FILE"}
        use_network = network_of_tests(self.names.port, trusted)
        self.fleet.ray.get([each.__ray_call__.remote(use_network) for each in self.fleet.workers.values()])
        runner = self.fleet.runner(shared_paths=[Path("/")])
        self.runners.append(runner)
        return ScriptTools(self.manager(), runner, FixedGrants(grants or Grants()), limits=limits)


@pytest.fixture(scope="session")
def fleet() -> Iterator[Fleet]:
    """A head and two machines, one worker on each."""
    with running_fleet("127.0.0.2", "127.0.0.3") as made:
        yield made


@pytest.fixture
def machines(fleet: Fleet) -> dict[str, str]:
    """A worker of four slots on each machine, started anew where the test before did not leave one."""
    alive = processes()
    ready = {
        facts["address"]: name
        for name, facts in fleet.machines().items()
        if facts["state"] == "ready" and facts["pid"] in alive
    }
    if set(ready) != {"127.0.0.2", "127.0.0.3"} or set(ready.values()) != set(fleet.workers):
        fleet.stop_workers()
        for address in ("127.0.0.2", "127.0.0.3"):
            fleet.restart_node(address)
        ready = {address: fleet.start_worker(address) for address in ("127.0.0.2", "127.0.0.3")}
    return ready


@pytest.fixture
def workshop(fleet: Fleet, machines: dict[str, str], shared_home: Path) -> Iterator[FleetWorkshop]:
    folder = Path(tempfile.mkdtemp(prefix="skillkit-tests-"))
    os.chmod(folder, 0o755)
    with NameServer() as names:
        yield FleetWorkshop(folder, shared_home, fleet=fleet, names=names)
        names.shutdown()
    shutil.rmtree(folder)


@pytest.fixture
def time_is_up(workshop: FleetWorkshop) -> Iterator[Callable[[], None]]:
    """Let runs of the machines reach their time limit after three seconds."""

    def jump(_: Any) -> None:
        import time

        from skillkit.scripts import capture

        until = time.monotonic() + 3

        class Clock:
            @staticmethod
            def monotonic() -> float:
                now = time.monotonic()
                return now + 3600 if now > until else now

        capture.time = Clock

    def restore(_: Any) -> None:
        import time

        from skillkit.scripts import capture

        capture.time = time

    def on_machines(change: Callable[[Any], None]) -> None:
        workshop.fleet.ray.get([each.__ray_call__.remote(change) for each in workshop.fleet.workers.values()])

    yield lambda: on_machines(jump)
    on_machines(restore)


@pytest.fixture(params=["bwrap"])
def backend(request: pytest.FixtureRequest) -> str:
    """The sandbox of the machines: without one, nothing runs on a fleet."""
    return str(request.param)


confining = backend
