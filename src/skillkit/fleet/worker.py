"""The actor that runs scripts on one machine: tickets in, sealed results out, the rest as locally."""

import asyncio
import contextlib
import json
import logging
import os
import socket
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from skillkit._version import __version__
from skillkit.core.disk import agent_home, make_folder, remove_tree
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.hosts import ANY_HOST
from skillkit.fleet.cluster import HEARTBEAT, PROTOCOL, import_ray
from skillkit.fleet.packing import unpack_request, unpack_tree
from skillkit.fleet.sealing import FleetKeys, Label, RequestGuard, SealError
from skillkit.scripts.documents import DocumentError, result_to_json
from skillkit.scripts.models import Outcome, ScriptRequest, ScriptResult
from skillkit.scripts.runner import LocalRunner

logger = logging.getLogger(__name__)

Reply = tuple[str, Any]
"""`("result", sealed)`, `("tree", digest)` for a missing tree, `("finishing", "")` for a machine that takes
nothing more, `("unfit", why)` when this machine could not start the script, `("broken", why)` when none
can."""
_ANSWER = 120.0
"""Seconds for which a result waits for a gateway that comes back."""
_MAX_KEPT = 1000
_MAX_FOLLOWED = 1 << 20
"""Bytes of output that can be followed while a script runs; the result has what its limits say."""
_PROBE = 4096
_UNTOLD = 5.0
"""Seconds that a worker stays when no gateway is there to hear that it leaves."""


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """How a machine serves."""

    name: str
    slots: int
    place: str
    """The machine and which of its workers; a new worker at the same place replaces the older one."""
    home: str | None = None
    sandbox: str | None = None
    keys: str | None = None
    min_free: int = 256 << 20
    """Bytes below which the machine takes no runs."""
    protocol: int = PROTOCOL


@dataclass(slots=True)
class _Run:
    label: Label
    task: "asyncio.Task[ScriptResult]"
    lines: list[str] = field(default_factory=list)
    size: int = 0
    news: asyncio.Event = field(default_factory=asyncio.Event)


class Worker:
    """Runs what the gateway sends, at most once, in this machine's sandbox."""

    def __init__(self, options: WorkerOptions) -> None:
        self._home = Path(options.home or agent_home() / "fleet")
        make_folder(self._home)
        self._options = options
        self._runner = LocalRunner(self._home, concurrency=options.slots, sandbox=options.sandbox)
        self._sandbox = self._runner.sandbox.choose().name  # raises where none holds: no worker, no run
        self._keys = FleetKeys.read(Path(options.keys) if options.keys else None)
        self._guard = RequestGuard(self._keys, options.name)
        self._admitted: dict[str, asyncio.Event] = {}
        self._runs: dict[str, _Run] = {}
        self._followed: dict[int, str] = {}
        self._kept: dict[str, tuple[float, bytes]] = {}
        self._finishing = asyncio.Event()
        self._leaves_at = 0.0
        self._heard: float | None = None
        self._facts = {
            "protocol": options.protocol,
            "version": __version__,
            "host": socket.gethostname(),
            "place": options.place,
            "slots": options.slots,
            "sandbox": self._sandbox,
            "pid": os.getpid(),
        }

    async def beat(self, state: str, end: list[str], taken: list[str]) -> dict[str, Any]:
        """Take the gateway's heartbeat: what it thinks of this machine, runs to end, results it has."""
        if state:
            self._heard = time.monotonic()
        for run in end:
            await self.cancel(run)
        for run in taken:
            self._kept.pop(run, None)
        if self._finishing.is_set():  # what was sent before it heard of this is still to be answered
            self._leaves_at = min(self._leaves_at, time.monotonic() + 2 * HEARTBEAT)
        if "address" not in self._facts:
            self._facts["address"] = import_ray().util.get_node_ip_address()
        return {
            **self._facts,
            "trees": self._runner.trees.count(),
            "finishing": self._finishing.is_set(),
            "free": _free(self._home),
            "unfit": await asyncio.to_thread(self._problem),
        }

    async def silent_for(self) -> float | None:
        """Return seconds since the gateway accepted this worker's last heartbeat, None before the first."""
        return None if self._heard is None else time.monotonic() - self._heard

    async def run(self, ticket: bytes, sealed: bytes) -> Reply:
        """Run the request that a ticket admits; the script is started at most once for it."""
        if self._finishing.is_set():
            return "finishing", ""
        with ExitStack() as held:
            try:
                label, request = self._admit(ticket, sealed, held)
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
            return "tree", request.digest  # removed from the cache a moment before it was to be used
        if self._never_started(result):
            return "unfit", result.message
        reply = self._keys.seal(replace(label, kind="result"), result_to_json(result))
        self._keep(label, reply)
        return "result", reply

    async def output(self, run: str, position: int) -> tuple[int, bytes]:
        """Return the lines that a run has printed since `position`, sealed, as soon as there is one."""
        known = self._runs.get(run)
        if known is None:
            return -1, b""
        if len(known.lines) <= position and not known.task.done():
            known.news.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(HEARTBEAT):
                    await known.news.wait()
        lines = known.lines[position:]
        if not lines:
            return position, b""
        sealed = self._keys.seal(replace(known.label, kind="output"), json.dumps(lines).encode())
        return position + len(lines), sealed

    async def collect(self, run: str, ticket: str) -> bytes | None:
        """Return the result of a run that was sent earlier; None if it never started, and never will."""
        if (answered := self._admitted.get(run)) is not None:
            await answered.wait()
        if run not in self._kept:
            self._guard.bar(ticket)
        return self._kept.get(run, (0.0, None))[1]

    async def cancel(self, run: str) -> None:
        """Kill a run; its script is gone when its result is there."""
        if (known := self._runs.get(run)) is not None:
            known.task.cancel()

    async def add_tree(self, digest: str, packed: bytes) -> Reply:
        """Keep a tree on this machine; `unfit` if this machine cannot, `broken` if it is another tree."""
        try:
            await asyncio.to_thread(self._add_tree, digest, packed)
        except OSError as error:
            return "unfit", str(error)
        except SkillsUseError as error:
            return "broken", f"The script was not started: {error}"
        return "kept", ""

    async def prepare(self, ticket: bytes, sealed: bytes) -> Reply:
        """Fetch a tree and build what a script needs, and start nothing."""
        with ExitStack() as held:
            try:
                _, request = self._admit(ticket, sealed, held)
            except (SealError, DocumentError, OSError) as error:
                return "broken", str(error)
            if not self._holds(request.digest):
                return "tree", request.digest
            why = await asyncio.to_thread(self._runner.prepare, request)
            return ("ready", "") if why is None else ("unfit", why)

    async def finish(self) -> None:
        """Take nothing more."""
        if not self._finishing.is_set():
            self._finishing.set()
            self._leaves_at = time.monotonic() + _UNTOLD

    async def ended(self) -> bool:
        """Return whether nothing runs here and the gateway sends nothing more."""
        return self._finishing.is_set() and not self._admitted and time.monotonic() > self._leaves_at

    # Inside

    def _admit(self, ticket: bytes, sealed: bytes, held: ExitStack) -> tuple[Label, ScriptRequest]:
        """Return what a ticket admits; nothing here runs without a sandbox. Input files stay while `held`."""

        def new_folder() -> Path:
            return Path(held.enter_context(tempfile.TemporaryDirectory(prefix="skillkit-inputs-")))

        label, content = self._guard.admit(ticket, sealed)
        request = unpack_request(content, new_folder)
        if request.digest != label.digest:
            raise DocumentError("the label names another tree than the request")
        if request.network:  # the machine's own network would reach every port of the cluster
            request = replace(request, network=False, hosts=(*request.hosts, ANY_HOST))
        return label, replace(request, unsandboxed=False)

    async def _execute(self, label: Label, request: ScriptRequest) -> ScriptResult:
        loop = asyncio.get_running_loop()
        if label.follow:
            self._runner.follow = partial(self._tell, loop)
            self._followed[id(request)] = label.run
        run = _Run(label, loop.create_task(self._runner.arun(request)))
        self._runs[label.run] = run
        try:
            return await run.task
        except asyncio.CancelledError:
            return ScriptResult(Outcome.CANCELLED, self._sandbox, message="Script was cancelled")
        except Exception as error:
            logger.exception("Unexpected failure of a run")
            return ScriptResult(Outcome.LOST, self._sandbox, message=f"The script may have run: {error}")
        finally:
            self._followed.pop(id(request), None)
            run.news.set()
            loop.call_later(2 * HEARTBEAT if label.follow else 0, self._runs.pop, label.run, None)

    def _never_started(self, result: ScriptResult) -> bool:
        """Whether this machine, rather than the skill, kept the script from starting."""
        return result.outcome is Outcome.BROKEN or (
            result.outcome is Outcome.DEPENDENCY and _free(self._home) < self._options.min_free
        )

    def _problem(self) -> str:
        """Return why this machine cannot take runs, "" when it can."""
        if (free := _free(self._home)) < self._options.min_free:
            return f"{free >> 20} MiB free in {self._home}, {self._options.min_free >> 20} MiB needed"
        try:
            with tempfile.TemporaryFile(dir=self._home) as file:
                file.write(bytes(_PROBE))
            self._runner.sandbox.choose()
        except (SkillsUseError, OSError) as error:
            return str(error)
        return ""

    def _tell(self, loop: asyncio.AbstractEventLoop, request: ScriptRequest, line: str) -> None:
        """Keep a line for whoever follows the run; called in the thread that reads the script's output."""
        if (run := self._followed.get(id(request))) is not None:
            loop.call_soon_threadsafe(self._add_line, run, line)

    def _add_line(self, name: str, line: str) -> None:
        if (run := self._runs.get(name)) is not None and run.size < _MAX_FOLLOWED:
            run.size += len(line) + 1
            run.lines.append(line)
            run.news.set()

    def _keep(self, label: Label, reply: bytes) -> None:
        now = time.monotonic()
        self._kept = {run: kept for run, kept in self._kept.items() if kept[0] > now}
        while len(self._kept) >= _MAX_KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[label.run] = (now + max(label.keep, _ANSWER), reply)

    def _holds(self, digest: str) -> bool:
        return self._runner.trees.has(digest)

    def _add_tree(self, digest: str, packed: bytes) -> None:
        scratch = Path(tempfile.mkdtemp(prefix="skillkit-tree-"))
        try:
            unpack_tree(packed, scratch / "tree")
            with self._runner.trees.pinned(scratch / "tree", digest):
                pass
        finally:
            remove_tree(scratch)


def _free(folder: Path) -> int:
    found = os.statvfs(next(path for path in (folder, *folder.parents) if path.exists()))
    return found.f_bavail * found.f_frsize
