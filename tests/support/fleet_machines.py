"""A fleet on a test cluster: gateway, workers, runners, and scripts that leave marks when they start."""

import os
import signal
import subprocess
import sys
import textwrap
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ray_cluster import HEAD, PORT, RayCluster, processes, running_cluster, wait_until

from skillkit.core.digest_memo import DigestMemo
from skillkit.fleet.cluster import FleetError, connect
from skillkit.fleet.joining import start_worker
from skillkit.fleet.operations import fleet_status
from skillkit.fleet.remote import RemoteRunner
from skillkit.fleet.sealing import FleetKeys, add_key
from skillkit.fleet.worker import WorkerOptions
from skillkit.scripts import ScriptRequest

ADDRESS = f"ray://{HEAD}:{PORT}"
URL = f"http://{HEAD}:8713"
AGENT = os.path.join(os.path.dirname(sys.executable), "agent")


@dataclass
class Fleet:
    """What tests do with a fleet; `marks` is where scripts say that they started."""

    cluster: RayCluster
    folder: Path
    ray: Any
    gateway: Any = None
    workers: dict[str, Any] = field(default_factory=dict)
    runners: list[RemoteRunner] = field(default_factory=list)

    @property
    def keys(self) -> Path:
        return self.folder / "keys"

    @property
    def marks(self) -> Path:
        return self.folder / "marks"

    @property
    def environment(self) -> dict[str, str]:
        """What a gateway or a worker of this fleet is started with."""
        return {
            **os.environ,
            "SKILLKIT_FLEET_KEYS": str(self.keys),
            "AGENT_HOME": str(self.folder / "agent"),
            "SKILLKIT_FLEET_POLICY": str(self.folder / "policy.json"),
        }

    def start_gateway(self) -> None:
        command = [AGENT, "fleet", "gateway", "--address", ADDRESS]
        with open(self.folder / "gateway.log", "ab") as log:
            self.gateway = subprocess.Popen(command, env=self.environment, stdout=log, stderr=log)
        wait_until(lambda: self.status() is not None, 60, "the gateway")

    def kill_gateway(self) -> None:
        os.kill(self.gateway.pid, signal.SIGKILL)
        self.gateway.wait()

    def nodes(self) -> dict[str, str]:
        return {node["NodeManagerAddress"]: node["NodeID"] for node in self.ray.nodes() if node["Alive"]}

    def restart_node(self, address: str) -> None:
        """Start a machine again whose raylet was killed; Ray lists it as alive for a while after that."""
        if self.cluster.raylet(address) is None:
            before = self.nodes().get(address)
            self.cluster.start_node(address)
            wait_until(lambda: self.nodes().get(address) not in (None, before), 60, f"the node at {address}")

    def start_worker(self, address: str, **options: Any) -> str:
        """Start a worker at an address and wait until it can be given work; return its name."""
        name = f"worker-{uuid.uuid4().hex}"
        home = str(self.folder / f"home-{address}")
        chosen = WorkerOptions(
            name,
            keys=str(self.keys),
            **{"slots": 4, "home": home, "sandbox": "bwrap", "min_free": 1, **options},
        )
        self.workers[name] = start_worker(self.ray, self.nodes()[address], chosen)
        known = ("ready", "unfit", "other version")
        wait_until(
            lambda: self.machines().get(name, {}).get("state") in known, 60, f"the worker at {address}"
        )
        return name

    def kill_worker(self, name: str) -> None:
        """Kill a worker and wait for its end: until then the gateway takes it for ready."""
        pid = self.machines()[name]["pid"]
        self.ray.kill(self.workers[name])
        wait_until(lambda: pid not in processes(), 60, f"the end of {name}")

    def stop_workers(self) -> None:
        for worker in self.workers.values():
            self.ray.kill(worker)

        def ended() -> bool:  # one of another version is shown as such even after its end
            found = self.machines()
            return all(found.get(name, {}).get("state") in (None, "other version") for name in self.workers)

        wait_until(ended, 60, "the end of the workers")
        self.workers.clear()

    def status(self) -> dict[str, Any] | None:
        try:
            return fleet_status(URL, self.keys)
        except FleetError:
            return None

    def machines(self) -> dict[str, Any]:
        """The workers that the gateway speaks with."""
        rows = (self.status() or {"machines": []})["machines"]
        return {each["name"]: each for each in rows if each["state"] != "missing"}

    def tenant(self, name: str) -> dict[str, float]:
        return (self.status() or {"tenants": {}})["tenants"].get(name, {"waiting": 0, "running": 0})

    def runner(self, tenant: str = "default", **options: Any) -> RemoteRunner:
        key = FleetKeys.read(self.keys).tenant(tenant).text
        runner = RemoteRunner(URL, key, **{"shared_paths": [self.folder], **options})
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
        wait_until(lambda: self.starts(request), 120, "the start of the script")


@contextmanager
def running_fleet(*addresses: str) -> Iterator[Fleet]:
    """A cluster with a head, a node at each address and a gateway, and no worker yet."""
    with contextmanager(running_cluster)(*addresses) as cluster:
        add_key(cluster.folder / "keys")
        (cluster.folder / "marks").mkdir()
        os.chmod(cluster.folder / "marks", 0o777)
        fleet = Fleet(cluster, cluster.folder, connect(ADDRESS))
        try:
            fleet.start_gateway()
            yield fleet
        finally:
            for runner in fleet.runners:
                runner.close()
            fleet.gateway.terminate()
            fleet.gateway.wait(20)
            fleet.ray.shutdown()
