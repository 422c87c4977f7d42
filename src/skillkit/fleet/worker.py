"""The actor that runs scripts on one machine: takes sealed requests and returns sealed results."""

import asyncio
import errno
import logging
import os
import socket
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from skillkit._version import __version__
from skillkit.core.digest_memo import DigestMemo
from skillkit.core.disk import agent_home, make_folder, remove_tree
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.hosts import ANY_HOST
from skillkit.fleet.cluster import HEARTBEAT, PROTOCOL, import_ray
from skillkit.fleet.packing import unpack_request, unpack_tree
from skillkit.fleet.sealing import FleetKeys, Label, RequestGuard, SealError
from skillkit.scripts.documents import DocumentError, result_to_json
from skillkit.scripts.models import Outcome, ScriptRequest, ScriptResult
from skillkit.scripts.network.addresses import OFF_LIMITS
from skillkit.scripts.runner import LocalRunner

logger = logging.getLogger(__name__)

Reply = tuple[str, Any]
"""`("result", sealed)`, `("tree", digest)` for a missing tree, `("finishing", "")` for a machine that accepts
no more runs, `("unfit", why)` if this machine could not start the script, `("broken", why)` if no machine
can."""
_ANSWER = 120.0
"""Seconds for which a result is kept for a gateway that reconnects."""
_MAX_KEPT = 1000
_PROBE = 4096
_UNTOLD = 5.0
"""Seconds that a worker stays if no gateway confirms that it leaves."""


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """Options of a machine's worker."""

    name: str
    slots: int
    home: str | None = None
    sandbox: str | None = None
    keys: str | None = None
    min_free: int = 256 << 20
    """Minimum of free bytes below which the machine accepts no runs."""
    protocol: int = PROTOCOL


class Worker:
    """Runs requests of the gateway, at most once, in this machine's sandbox."""

    def __init__(self, options: WorkerOptions) -> None:
        self._home = Path(options.home or agent_home() / "fleet")
        make_folder(self._home)
        self._options = options
        threads = options.slots + 1  # the gateway counts slots; the other thread is for a probe
        self._runner = LocalRunner(self._home, concurrency=threads, sandbox=options.sandbox)
        self._sandbox = self._runner.sandbox.choose().name  # raises if there is none: no sandbox, no worker
        self._keys = FleetKeys.read(Path(options.keys) if options.keys else None)
        self._guard = RequestGuard(self._keys, options.name)
        self._admitted: dict[str, asyncio.Event] = {}
        self._running: dict[str, asyncio.Task[ScriptResult]] = {}
        self._kept: dict[str, tuple[float, bytes]] = {}
        self._probing: asyncio.Task[str] | None = None
        self._finishing = asyncio.Event()
        self._leaves_at = 0.0
        self._heard: float | None = None
        self._facts = {
            "protocol": options.protocol,
            "version": __version__,
            "host": socket.gethostname(),
            "slots": options.slots,
            "sandbox": self._sandbox,
            "pid": os.getpid(),
        }

    async def beat(
        self, state: str, end: list[str], taken: list[str], cluster: list[str] | None
    ) -> dict[str, Any]:
        """Handle the gateway's heartbeat: its view of this machine, runs to end, results it has received.

        Scripts never reach the addresses of the `cluster`, whatever they are granted.
        """
        if cluster is not None:
            OFF_LIMITS.clear()
            OFF_LIMITS.update(cluster)
        if state and state != "other version":
            self._heard = time.monotonic()
        for run in end:
            await self.cancel(run)
        for run in taken:
            self._kept.pop(run, None)
        if self._finishing.is_set():  # requests sent before the gateway knew of this must still be answered
            self._leaves_at = min(self._leaves_at, time.monotonic() + 2 * HEARTBEAT)
        if "address" not in self._facts:
            self._facts["address"] = import_ray().util.get_node_ip_address()
        unfit = await asyncio.to_thread(self._problem)
        if state == "unfit" and not unfit:
            unfit = self._probed()
        return {
            **self._facts,
            "trees": self._runner.trees.count(),
            "finishing": self._finishing.is_set(),
            "free": _free(self._home),
            "unfit": unfit,
        }

    async def presence(self) -> tuple[float | None, bool, bool]:
        """Return seconds since the gateway accepted a heartbeat (None before the first), and two flags.

        The flags: whether scripts run, and whether nothing runs here and the gateway sends no more runs.
        """
        silent = None if self._heard is None else time.monotonic() - self._heard
        ended = self._finishing.is_set() and not self._admitted and time.monotonic() > self._leaves_at
        return silent, bool(self._admitted), ended

    async def run(self, sealed: bytes) -> Reply:
        """Run a request of the gateway; its script is started at most once."""
        if self._finishing.is_set():
            return "finishing", ""
        with ExitStack() as held:
            try:
                label, request = self._admit(sealed, held)
            except (SealError, OSError) as error:
                return "unfit", str(error)
            except DocumentError as error:
                return "broken", f"The script was not started: {error}"
            answered = self._admitted[label.run] = asyncio.Event()
            try:
                return await self._run(label, request)
            finally:
                del self._admitted[label.run]
                answered.set()

    async def _run(self, label: Label, request: ScriptRequest) -> Reply:
        if not self._holds(request.digest):
            return "tree", request.digest
        result = await self._execute(label, request)
        if result.outcome in (Outcome.REFUSED, Outcome.BROKEN) and not self._holds(request.digest):
            return "tree", request.digest  # evicted from the cache just before its use
        if self._never_started(result):
            return "unfit", result.message
        if result.outcome in (Outcome.DEPENDENCY, Outcome.LOST):
            result = replace(result, message=f"{result.message} (on {self._facts['host']})")
        reply = self._keys.seal(replace(label, kind="result"), result_to_json(result))
        self._keep(label, reply)
        return "result", reply

    async def collect(self, run: str, document: str) -> bytes | None:
        """Return the result of a run that was sent earlier; None if it never started, and never will."""
        if (answered := self._admitted.get(run)) is not None:
            await answered.wait()
        if run not in self._kept:
            self._guard.bar(document)
        return self._kept.get(run, (0.0, None))[1]

    async def cancel(self, run: str, document: str = "") -> None:
        """Kill a run; its result is available once the script is gone. If it is still on its way, bar it."""
        if (task := self._running.get(run)) is not None:
            task.cancel()
        elif document:
            self._guard.bar(document)

    async def add_tree(self, digest: str, packed: bytes) -> Reply:
        """Store a tree on this machine; `unfit` if this machine cannot, `broken` if it is another tree."""
        try:
            await asyncio.to_thread(self._add_tree, digest, packed)
        except OSError as error:
            return "unfit", str(error)
        except SkillsUseError as error:
            return "broken", f"The script was not started: {error}"
        return "kept", ""

    async def prepare(self, sealed: bytes) -> Reply:
        """Fetch a tree and build the script's environment, without starting it."""
        with ExitStack() as held:
            try:
                _, request = self._admit(sealed, held)
            except (SealError, DocumentError, OSError) as error:
                return "broken", str(error)
            if not self._holds(request.digest):
                return "tree", request.digest
            why = await asyncio.to_thread(self._runner.prepare, request)
            return ("ready", "") if why is None else ("unfit", why)

    async def finish(self) -> None:
        """Accept no more runs."""
        if not self._finishing.is_set():
            self._finishing.set()
            self._leaves_at = time.monotonic() + _UNTOLD

    # Inside

    def _admit(self, sealed: bytes, held: ExitStack) -> tuple[Label, ScriptRequest]:
        """Decrypt a request; nothing runs here without a sandbox. Input files exist while `held`."""

        def new_folder() -> Path:
            return Path(held.enter_context(tempfile.TemporaryDirectory(prefix="skillkit-inputs-")))

        label, content = self._guard.admit(sealed)
        request = unpack_request(content, new_folder)
        if request.digest != label.digest:
            raise DocumentError("the label names another tree than the request")
        if request.network:  # the machine's own network would expose every port of the cluster
            request = replace(request, network=False, hosts=(*request.hosts, ANY_HOST))
        return label, replace(request, unsandboxed=False)

    async def _execute(self, label: Label, request: ScriptRequest) -> ScriptResult:
        task = self._running[label.run] = asyncio.create_task(self._runner.arun(request))
        try:
            return await task
        except asyncio.CancelledError:
            return ScriptResult(Outcome.CANCELLED, self._sandbox, message="Script was cancelled")
        except Exception as error:
            logger.exception("Unexpected failure of a run")
            return ScriptResult(Outcome.LOST, self._sandbox, message=f"The script may have run: {error}")
        finally:
            del self._running[label.run]

    def _never_started(self, result: ScriptResult) -> bool:
        """Return whether this machine, rather than the skill, kept the script from starting."""
        full = _free(self._home) < self._options.min_free or os.strerror(errno.ENOSPC) in result.message
        return (
            result.outcome is Outcome.BROKEN
            or (result.outcome is Outcome.REFUSED and result.backend == "none")
            or (result.outcome is Outcome.DEPENDENCY and full)
        )

    def _problem(self) -> str:
        """Return why this machine cannot take runs, "" when it can."""
        if (free := _free(self._home)) < self._options.min_free:
            return f"{free >> 20} MiB free in {self._home}, {self._options.min_free >> 20} MiB needed"
        stores = (self._runner.trees.folder, self._runner.environments.folder)
        for folder in (self._home, Path(tempfile.gettempdir()), *stores):
            try:
                folder.mkdir(parents=True, exist_ok=True)
                with tempfile.TemporaryFile(dir=folder) as file:
                    file.write(bytes(_PROBE))
            except OSError as error:
                return f"{folder}: {error.strerror}"
        try:
            self._runner.sandbox.choose()
        except SkillsUseError as error:
            return str(error)
        return ""

    def _probed(self) -> str:
        """Return why a trivial script does not run here, "" once it has; heartbeats do not wait for it."""
        probe = self._probing or asyncio.create_task(asyncio.to_thread(self._probe))
        self._probing = None if probe.done() else probe
        return probe.result() if probe.done() else "a probe is running"

    def _probe(self) -> str:
        try:
            with tempfile.TemporaryDirectory(prefix="skillkit-probe-", dir=self._home) as folder:
                script = Path(folder, "probe.py")
                script.touch()
                digest = DigestMemo().with_links(script.parent).digest
                request = ScriptRequest("probe", script.parent, digest, script.name)
                result = self._runner.run(request)
        except (SkillsUseError, OSError) as error:
            return str(error)
        return "" if result.exit_code == 0 else result.message or "a probe failed"

    def _keep(self, label: Label, reply: bytes) -> None:
        now = time.monotonic()
        self._kept = {run: kept for run, kept in self._kept.items() if kept[0] > now}
        while len(self._kept) >= _MAX_KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[label.run] = (now + max(label.keep, _ANSWER), reply)

    def _holds(self, digest: str) -> bool:
        return self._runner.trees.has(digest)

    def _add_tree(self, digest: str, packed: bytes) -> None:
        scratch = Path(tempfile.mkdtemp(prefix="skillkit-tree-", dir=self._home))
        try:
            unpack_tree(packed, scratch / "tree")
            with self._runner.trees.pinned(scratch / "tree", digest):
                pass
        finally:
            remove_tree(scratch)


def _free(folder: Path) -> int:
    found = os.statvfs(next(path for path in (folder, *folder.parents) if path.exists()))
    return found.f_bavail * found.f_frsize
