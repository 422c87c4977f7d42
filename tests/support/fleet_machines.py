"""A fleet on a test cluster: workers, runners and skills whose scripts leave marks when they start."""

import os
import textwrap
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ray_cluster import HEAD, PORT, RayCluster, running_cluster, wait_until

from skillkit.core.digest_memo import DigestMemo
from skillkit.fleet.cluster import connect, get_dispatcher, number_of
from skillkit.fleet.joining import start_worker
from skillkit.fleet.runner import RayRunner
from skillkit.fleet.sealing import add_key
from skillkit.fleet.worker import WorkerOptions
from skillkit.scripts import ScriptRequest

ADDRESS = f"ray://{HEAD}:{PORT}"


def name_for(number: int, count: int) -> str:
    """A name that dispatcher `number` of `count` serves."""
    return next(name for name in map("pool{}".format, range(1000)) if number_of(name, count) == number)


@dataclass
class Fleet:
    """What tests do with a fleet; `marks` is where scripts say that they started."""

    cluster: RayCluster
    folder: Path
    ray: Any
    workers: dict[str, Any] = field(default_factory=dict)
    runners: list[RayRunner] = field(default_factory=list)
    answers: list[float] = field(default_factory=list)
    """Seconds after which callers were answered, for tests that cause faults."""

    @property
    def keys(self) -> Path:
        return self.folder / "keys"

    @property
    def marks(self) -> Path:
        return self.folder / "marks"

    def nodes(self) -> dict[str, str]:
        return {node["NodeManagerAddress"]: node["NodeID"] for node in self.ray.nodes() if node["Alive"]}

    def restart_node(self, address: str) -> None:
        """Start a machine again whose raylet was killed; Ray lists it as alive for a while after that."""
        if self.cluster.raylet(address) is None:
            before = self.nodes().get(address)
            self.cluster.start_node(address)
            wait_until(lambda: self.nodes().get(address) not in (None, before), 60, f"the node at {address}")

    def start_worker(self, address: str, place: str | None = None, **options: Any) -> str:
        """Start a worker at an address and wait until it can be given work; return its name."""
        name = f"worker-{uuid.uuid4().hex}"
        chosen = WorkerOptions(
            name,
            place=place or address,
            keys=str(self.keys),
            **{"slots": 4, "home": str(self.folder / f"home-{address}"), "sandbox": "bwrap", **options},
        )
        worker = self.workers[name] = start_worker(self.ray, self.nodes()[address], chosen)
        worker.serve.remote()
        wait_until(lambda: name in self.status(), 60, f"the worker at {address}")
        return name

    def stop_workers(self) -> None:
        for name, worker in self.workers.items():
            self.ray.kill(worker)
            for number in range(self.dispatchers):
                self.ray.get(get_dispatcher(self.ray, number).retire.remote(name))
        self.workers.clear()

    dispatchers = 1

    def status(self) -> dict[str, Any]:
        """The workers that the dispatchers know."""
        found: dict[str, Any] = {}
        for number in range(self.dispatchers):
            found |= self.ray.get(get_dispatcher(self.ray, number).status.remote())["workers"]
        return found

    def runner(self, **options: Any) -> RayRunner:
        runner = RayRunner(ADDRESS, **{"keys": self.keys, "shared_paths": [self.folder], **options})
        self.runners.append(runner)
        return runner

    def request(self, source: str = "print(1)", **fields: Any) -> ScriptRequest:
        """A request for a script of a skill of its own; each start adds a line to `marks/<skill>`."""
        name = f"skill-{uuid.uuid4().hex[:8]}"
        base = self.folder / name
        (base / "scripts").mkdir(parents=True)
        (base / "SKILL.md").write_text(f"---\nname: {name}\ndescription: test\n---\n")
        mark = f"import uuid; open({str(self.marks / name)!r} + uuid.uuid4().hex, 'x').close()\n"
        (base / "scripts" / "run.py").write_text(mark + textwrap.dedent(source))
        digest = DigestMemo().with_links(base).digest
        return ScriptRequest(name, base, digest, "scripts/run.py", **{"write_paths": (self.marks,), **fields})

    def starts(self, request: ScriptRequest) -> int:
        return sum(name.startswith(request.skill) for name in os.listdir(self.marks))

    def wait_for_start(self, request: ScriptRequest) -> None:
        wait_until(lambda: self.starts(request), 60, "the start of the script")


@contextmanager
def running_fleet(*addresses: str) -> Iterator[Fleet]:
    """A cluster with a head and a node at each address, and no worker yet."""
    with contextmanager(running_cluster)(*addresses) as cluster:
        add_key(cluster.folder / "keys")
        (cluster.folder / "marks").mkdir()
        os.chmod(cluster.folder / "marks", 0o777)
        fleet = Fleet(cluster, cluster.folder, connect(ADDRESS))
        try:
            yield fleet
        finally:
            for runner in fleet.runners:
                runner.close()
            fleet.ray.shutdown()
