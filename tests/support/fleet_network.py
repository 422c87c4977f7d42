"""A fleet of machines with a network each: namespaces on one bridge, Ray with TLS, units that are restarted.

What runs here is what the unit files of `examples/systemd` run, started again 2 s after it ended.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ray_cluster import PORT, processes, wait_until

from skillkit.fleet.cluster import FleetError
from skillkit.fleet.operations import fleet_status
from skillkit.fleet.sealing import FleetKeys, add_key

BIN = Path(sys.executable).parent
HEAD = "10.9.0.1"
PROGRAMS = "10.9.0.9"
"""Where this process and the programs are: no machine of the cluster."""
URL = f"https://{HEAD}:8713"
RESTART = 2.0


@dataclass
class Unit:
    """A command that is started again whenever it ends, as `Restart=always` says."""

    name: str
    command: Sequence[str]
    environment: dict[str, str]
    log: Path
    process: "subprocess.Popen[bytes] | None" = None
    starts: int = 0
    _stopping: threading.Event = field(default_factory=threading.Event)
    _thread: "threading.Thread | None" = None

    def start(self) -> None:
        self._stopping.clear()
        self._thread = threading.Thread(target=self._supervise, name=self.name)
        self._thread.start()

    def _supervise(self) -> None:
        while not self._stopping.is_set():
            with open(self.log, "ab") as log:
                self.process = subprocess.Popen(
                    self.command,
                    env=self.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            self.starts += 1
            self.process.wait()
            with suppress(ProcessLookupError):  # as systemd does with what a service leaves behind
                os.killpg(self.process.pid, signal.SIGKILL)
            self._stopping.wait(RESTART)

    def stop(self) -> None:
        self._stopping.set()
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(15)
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        if self._thread is not None:
            self._thread.join()


@dataclass
class Network:
    """A head with the gateway, machines with a worker each, and a place for programs beside them."""

    folder: Path
    units: dict[str, Unit] = field(default_factory=dict)
    machines: dict[str, str] = field(default_factory=dict)
    """By name, the process that keeps its namespaces."""
    holders: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    @property
    def keys(self) -> Path:
        return self.folder / "keys"

    @property
    def environment(self) -> dict[str, str]:
        tls = self.folder / "tls"
        return {
            **os.environ,
            "RAY_TMPDIR": str(self.folder / "ray"),
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN_PATH": str(self.folder / "token"),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_USE_TLS": "1",
            "RAY_TLS_SERVER_CERT": str(tls / "cert.pem"),
            "RAY_TLS_SERVER_KEY": str(tls / "key.pem"),
            "RAY_TLS_CA_CERT": str(tls / "ca.pem"),
            "SKILLKIT_FLEET_KEYS": str(self.keys),
            "SKILLKIT_FLEET_CA": str(tls / "ca.pem"),
            "AGENT_HOME": str(self.folder / "home"),
        }

    def add_machine(self, name: str, address: str) -> None:
        """Make a machine: a network, a name, processes, and a folder of Ray's that no other has."""
        run("ip", "netns", "add", name)
        run("ip", "link", "add", f"v-{name}", "type", "veth", "peer", "name", "eth0", "netns", name)
        run("ip", "link", "set", f"v-{name}", "master", "bridge", "up")
        run("ip", "-n", name, "link", "set", "lo", "up")
        run("ip", "-n", name, "link", "set", "eth0", "up")
        run("ip", "-n", name, "address", "add", f"{address}/24", "dev", "eth0")
        (self.folder / f"ray-{name}").mkdir()
        own = f"mount --bind {self.folder}/ray-{name} {self.folder}/ray && hostname {name} && exec sleep inf"
        alone = ("unshare", "--uts", "--pid", "--mount", "--fork", "--mount-proc", "--kill-child")
        holder = subprocess.Popen(["ip", "netns", "exec", name, *alone, "sh", "-c", own])
        self.holders.append(holder)
        inside = Path(f"/proc/{holder.pid}/task/{holder.pid}/children")
        pid = wait_until(lambda: inside.read_text().strip(), 10, f"machine {name}")
        wait_until(lambda: "sleep" in processes()[int(pid)], 10, f"machine {name}")
        self.machines[name] = pid

    def on(self, machine: str, *command: str) -> list[str]:
        """Return what runs a command on a machine."""
        return ["nsenter", "--target", self.machines[machine], "--mount", "--uts", "--net", "--pid", *command]

    def add_unit(self, name: str, machine: str, *command: str) -> None:
        environment = {**self.environment, "AGENT_HOME": str(self.folder / f"home-{machine}")}
        log = self.folder / f"{name}.log"
        self.units[name] = Unit(name, self.on(machine, *command), environment, log)
        self.units[name].start()

    def cut(self, machine: str) -> None:
        run("ip", "link", "set", f"v-{machine}", "down")

    def mend(self, machine: str) -> None:
        run("ip", "link", "set", f"v-{machine}", "up")

    def kill(self, machine: str, *words: str) -> None:
        """Kill the processes of a machine whose command lines hold all of these words."""
        here = os.readlink(f"/proc/{self.machines[machine]}/ns/uts")
        for pid, line in processes().items():
            with suppress(OSError):
                if all(word in line for word in words) and os.readlink(f"/proc/{pid}/ns/uts") == here:
                    os.kill(pid, signal.SIGKILL)

    def status(self) -> dict[str, Any]:
        try:
            return fleet_status(URL, self.keys)
        except FleetError:
            return {"machines": [], "tenants": {}, "engine": "no gateway"}

    def ready(self) -> dict[str, Any]:
        """The machines that take runs, by host."""
        return {each["host"]: each for each in self.status()["machines"] if each["state"] == "ready"}

    def key(self, tenant: str) -> str:
        return FleetKeys.read(self.keys).tenant(tenant).text


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=60)


def make_certificates(folder: Path, *addresses: str) -> None:
    """Write a CA and one certificate for all addresses."""
    folder.mkdir()
    names = ",".join(["IP:127.0.0.1", "DNS:localhost", *(f"IP:{address}" for address in addresses)])
    (folder / "names").write_text(f"subjectAltName={names}\n")
    new = ("openssl", "req", "-newkey", "rsa:2048", "-nodes")
    ca, request = str(folder / "ca.pem"), str(folder / "request.pem")
    run(*new, "-x509", "-days", "2", "-subj", "/CN=fleet", "-keyout", f"{ca}.key", "-out", ca)
    run(*new, "-subj", "/CN=node", "-keyout", str(folder / "key.pem"), "-out", request)
    signed = ("-CA", ca, "-CAkey", f"{ca}.key", "-CAcreateserial", "-days", "2")
    names_and_place = ("-extfile", str(folder / "names"), "-out", str(folder / "cert.pem"))
    run("openssl", "x509", "-req", "-in", request, *signed, *names_and_place)


@contextmanager
def running_network(machines: int = 2, *, slots: int = 4) -> Iterator[Network]:
    """A head and machines `m1`, `m2`, …, all ready; this process has the address of the programs."""
    folder = Path(tempfile.mkdtemp(prefix="skn-"))
    os.chmod(folder, 0o755)
    network = Network(folder)
    addresses = {"head": HEAD, **{f"m{number}": f"10.9.0.{number + 1}" for number in range(1, machines + 1)}}
    (folder / "ray").mkdir()
    (folder / "marks").mkdir()
    os.chmod(folder / "marks", 0o777)
    (folder / "token").write_text("0123456789abcdef" * 4)
    (folder / "token").chmod(0o600)
    add_key(network.keys)
    make_certificates(folder / "tls", *addresses.values(), PROGRAMS)
    os.environ["SKILLKIT_FLEET_CA"] = str(folder / "tls" / "ca.pem")
    run("mount", "-t", "tmpfs", "tmpfs", "/run")
    run("ip", "link", "add", "bridge", "type", "bridge")
    run("ip", "link", "set", "bridge", "up")
    run("ip", "address", "add", f"{PROGRAMS}/24", "dev", "bridge")
    try:
        for name, address in addresses.items():
            network.add_machine(name, address)
        store = "--object-store-memory=80000000"
        ray = (str(BIN / "ray"), "start", "--block", "--disable-usage-stats", store)
        head = (f"--port={PORT}", "--include-dashboard=false", "--num-cpus=0", f"--node-ip-address={HEAD}")
        agent, address = (str(BIN / "agent"), "fleet"), ("--address", f"ray://{HEAD}:{PORT}")
        tls = ("--tls-cert", str(folder / "tls" / "cert.pem"), "--tls-key", str(folder / "tls" / "key.pem"))
        network.add_unit("ray-head", "head", *ray, "--head", *head)
        network.add_unit("gateway", "head", *agent, "gateway", *address, "--host", HEAD, *tls)
        for name in list(addresses)[1:]:
            where = f"--node-ip-address={addresses[name]}"
            network.add_unit(f"ray-{name}", name, *ray, f"--address={HEAD}:{PORT}", "--num-cpus=2", where)
            network.add_unit(f"worker-{name}", name, *agent, "worker", *address, "--slots", str(slots))
        wait_until(lambda: len(network.ready()) == machines, 180, "the machines")
        yield network
    finally:
        for unit in reversed(network.units.values()):
            unit.stop()
        for holder in network.holders:
            holder.kill()
            holder.wait()
        shutil.rmtree(folder, ignore_errors=True)


def show(network: Network) -> str:
    """Return the status and the end of every log, for a test that failed."""
    logs = {name: unit.log.read_text(errors="replace")[-1500:] for name, unit in network.units.items()}
    return "\n".join([json.dumps(network.status(), indent=1), *(f"--- {it}\n{logs[it]}" for it in logs)])
