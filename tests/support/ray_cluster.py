"""A Ray cluster of a head and two nodes on loopback, inside a network and process namespace of its own."""

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

PORT = 6399
HEAD = "127.0.0.1"
INSIDE = "SKILLKIT_TESTS_IN_NAMESPACE"


def namespace_command() -> list[str]:
    """What runs a command where nothing but loopback exists, and ends all it started with it."""
    alone = ["unshare", "--net", "--pid", "--fork", "--mount-proc", "--kill-child"]
    if os.geteuid() != 0:
        alone += ["--user", "--map-current-user", "--keep-caps"]
    return [*alone, "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]


def why_no_namespace() -> str | None:
    """Why this machine cannot make one, None when it can."""
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        return "the programs unshare and ip are not installed"
    tried = subprocess.run(
        [*namespace_command(), "true"], capture_output=True, text=True, timeout=30, check=False
    )
    return None if tried.returncode == 0 else tried.stderr.strip()


def processes() -> dict[int, str]:
    """The command lines of all processes of the namespace."""
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                line = Path("/proc", entry, "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if line:
                found[int(entry)] = line
    return found


def wait_until(condition, seconds: float = 30.0, what: str = "it"):
    """The first true value of `condition`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.05)
    raise AssertionError(f"{what} did not happen within {seconds:g} s")


@dataclass
class RayCluster:
    """Started and ended by process id; `folder` holds everything it writes."""

    folder: Path
    machines: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)

    def start(self, *addresses: str) -> None:
        """Start a head and a node at each address."""
        os.environ.update(
            RAY_AUTH_MODE="token",
            RAY_AUTH_TOKEN=secrets.token_hex(32),
            RAY_USAGE_STATS_ENABLED="0",
            RAY_TMPDIR=str(self.folder / "ray"),
        )
        (self.folder / "ray").mkdir(parents=True)
        self.start_head()
        for address in addresses:
            self.start_node(address)

    def start_head(self) -> None:
        self._start(HEAD, "--head", f"--port={PORT}", "--include-dashboard=false", "--num-cpus=0")

    def start_node(self, address: str) -> None:
        """Start a machine, again where it died; two at once would take the same names for their sockets."""
        if (before := self.machines.get(address)) is not None:
            before.kill()
            before.wait()
        self._start(address, f"--address={HEAD}:{PORT}", "--num-cpus=4")

    def _start(self, address: str, *options: str) -> None:
        """Start a machine, again where Ray gave up after its fixed 30 s: a busy machine needs longer."""
        log = self.folder / f"{address}.log"
        for _ in range(4):
            machine = self.machines[address] = self._spawn(log, address, *options)
            started = lambda log=log, machine=machine: (  # noqa: E731
                b"Ray runtime started" in log.read_bytes() or machine.poll() is not None
            )
            wait_until(started, 120, f"the start of {address}")
            if machine.poll() is None:
                return
        raise AssertionError(log.read_text()[-3000:])

    def _spawn(self, log: Path, address: str, *options: str) -> "subprocess.Popen[bytes]":
        ray = os.path.join(os.path.dirname(sys.executable), "ray")
        with open(log, "wb") as file:
            return subprocess.Popen(
                [
                    *(ray, "start", "--block", "--disable-usage-stats", f"--node-ip-address={address}"),
                    *("--object-store-memory=80000000", *options),
                ],
                stdout=file,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
            )

    def raylet(self, address: str) -> int | None:
        """The process id of a machine's raylet, None where it is gone."""
        return next(
            (
                pid
                for pid, line in processes().items()
                if "raylet/raylet " in line and f"--node_ip_address={address} " in line
            ),
            None,
        )

    def stop(self) -> None:
        for machine in self.machines.values():
            machine.send_signal(signal.SIGTERM)
        for machine in self.machines.values():
            try:
                machine.wait(10)
            except subprocess.TimeoutExpired:
                machine.kill()
                machine.wait()


def running_cluster(*addresses: str) -> Iterator[RayCluster]:
    """A cluster as long as the caller needs it."""
    folder = Path(tempfile.mkdtemp(prefix="sk-"))
    os.chmod(folder, 0o755)
    cluster = RayCluster(folder)
    try:
        cluster.start(*addresses)
        yield cluster
    finally:
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)
