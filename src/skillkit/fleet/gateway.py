"""The runs and the queue of a fleet; programs reach it through `gateway_http`."""

import asyncio
import contextlib
import logging
import os
import signal
import sqlite3
import time
import uuid
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from skillkit.core.disk import file_stamp, make_folder
from skillkit.core.exceptions import ConfigurationError
from skillkit.fleet.cluster import PROGRAM_SILENCE, PROTOCOL, REMEMBERED, SILENCE, STRANDED, FleetError
from skillkit.fleet.engine import Engine, EngineLostError, NoWorkerError, WorkerGoneError
from skillkit.fleet.fair_queue import FairQueue, QueueFullError
from skillkit.fleet.machines import Machines
from skillkit.fleet.policy import Policy, policy_path, read_policy
from skillkit.fleet.sealing import MAX_AGE, FleetKeys, Label, SealError
from skillkit.fleet.sent_runs import SentRunLog

logger = logging.getLogger(__name__)

MAX_DOCUMENTS = 1 << 30
"""Limit of waiting requests and kept results in bytes; further requests are refused."""
MAX_TREES = 256 << 20
"""Limit of cached trees in bytes; the oldest are dropped and requested again if needed."""
_TRIES = 3
"""Number of machines that are tried for a run that did not start."""
_RECOVERY = 60.0
"""Timeout in seconds for a new driver to reach the machine of a run sent earlier."""
_TREE = 120.0
"""Timeout in seconds for the upload of a tree, and for its transfer to a machine."""
_ANSWERED = 60.0
"""Seconds for which a result can be requested again."""
_TICK = 0.5

T = TypeVar("T")


class EndedRunError(FleetError, code="ended-run"):
    """A run that was started, and whose result is not held any more."""


Reply = tuple[str, Any]
"""The outcome of a run, `elsewhere` if it never started, or a reply of a worker; and the result or the
reason."""


@dataclass(slots=True)
class Run:
    """A run of a program, from its submission until its result is fetched."""

    name: str
    tenant: str
    digest: str
    document: bytes = b""
    priority: int = 0
    keep: float = 0.0
    state: str = "waiting"
    """`waiting`, `running`, `tree` while its tree is missing, or the outcome: `result`, `lost`, `broken`,
    `cancelled`."""
    worker: str = ""
    tried: dict[str, str] = field(default_factory=dict)
    """Machines that could not start it, and why."""
    sent: str = ""
    """The id of the document sent to its worker."""
    answer: bytes = b""
    message: str = ""
    heard: float = field(default_factory=time.monotonic)
    ended: float | None = None
    cancelled: bool = False
    abandoned: bool = False
    """Cancelled because its program was silent."""
    slot: "asyncio.Future[str] | None" = None
    lost: asyncio.Event = field(default_factory=asyncio.Event)
    uploaded: asyncio.Event = field(default_factory=asyncio.Event)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    task: "asyncio.Task[None] | None" = None

    def change(self, state: str) -> None:
        self.state = state
        self.changed.set()


class Gateway:
    """Starts each run at most once, and returns an outcome for each, whatever fails."""

    def __init__(
        self,
        engine: Engine,
        keys: FleetKeys,
        home: Path,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.keys = keys
        self._engine = engine
        self._home = home
        self._say = say
        self._queue = FairQueue(Policy())
        self._runs: dict[str, Run] = {}
        self._trees: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        self.machines = Machines(engine, self._queue, self._lose, self._grant)
        self._held = 0
        self._served = time.monotonic()
        self._policy_seen: object = "never"
        self._policy_error = ""

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Run the engine, the machines and the queue."""
        make_folder(self._home)
        self._sent = SentRunLog(self._home / "sent.sqlite")
        self._read_policy()
        for record in self._sent:
            run = self._runs[record["name"]] = Run(**record, state="running")
            self._queue.adopt(run.name, run.tenant, run.worker, time.monotonic())
            run.task = asyncio.create_task(self._resume(run))
        work = (self._engine.keep_running(), self.machines.find(), self._tend())
        tasks = [asyncio.create_task(each) for each in work]
        for task in tasks:
            task.add_done_callback(_stop_unless_cancelled)
        try:
            yield
        finally:
            tasks += [run.task for run in self._runs.values() if run.task is not None]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._sent.close()

    # What programs ask

    def submit(self, tenant: str, sealed: bytes, priority: int) -> Run:
        """Accept a run; a second submission of the same run returns the first one."""
        label, _ = self.open(tenant, sealed)
        if (known := self.find(tenant, label.run)) is not None:
            return known
        if label.run in self._runs:
            raise SealError("run name in use")
        if abs(time.time() - label.issued) > MAX_AGE:
            raise SealError(f"request older than {MAX_AGE:g} s, or the clocks differ by that")
        if self._held + len(sealed) > MAX_DOCUMENTS:
            raise FleetError("the gateway holds too many requests and results; try again later")
        run = Run(label.run, tenant, label.digest, sealed, priority, min(REMEMBERED, label.keep))
        self._enqueue(run)  # may raise QueueFullError, so before the run is stored
        self._held += len(sealed)
        self._runs[run.name] = run
        run.task = asyncio.create_task(self._drive(run))
        self._grant()
        return run

    def open(self, tenant: str, sealed: bytes) -> tuple[Label, bytes]:
        """Decrypt a tenant's request and its label; SealError for anything else."""
        label, content = self.keys.open(sealed)
        if label.tenant != tenant or label.kind != "request":
            raise SealError("not a request of this tenant")
        return label, content

    def find(self, tenant: str, name: str) -> Run | None:
        """Return a tenant's run; None for another tenant's; EndedRunError if it ended a while ago."""
        run = self._runs.get(name)
        if run is None and self._sent.has_ended(name, tenant):
            raise EndedRunError("the gateway no longer has the result of this run")
        if run is None or run.tenant != tenant:
            return None
        run.heard = time.monotonic()
        return run

    async def wait(self, run: Run, seconds: float) -> None:
        """Return when the run has ended, its tree is missing, or the timeout has passed."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while run.ended is None and run.state != "tree":
                    run.changed.clear()
                    await run.changed.wait()
        run.heard = time.monotonic()

    async def cancel(self, run: Run) -> None:
        """Cancel a run; its state changes once the script is gone."""
        if run.ended is not None or run.cancelled:
            return
        run.cancelled = True
        run.uploaded.set()
        if run.slot is not None and not run.slot.done():
            run.slot.cancel()
        elif run.worker:
            with contextlib.suppress(FleetError, TimeoutError):
                await self._engine.call(run.worker, "cancel", run.name, run.sent, seconds=SILENCE)

    def add_tree(self, tenant: str, digest: str, packed: bytes) -> None:
        """Store a tree for a tenant's runs; machines verify its digest."""
        self._trees[tenant, digest] = packed
        while len(self._trees) > 1 and sum(map(len, self._trees.values())) > MAX_TREES:
            self._trees.popitem(last=False)
        for run in self._runs.values():
            if (run.tenant, run.digest) == (tenant, digest):
                run.uploaded.set()

    async def prepare(self, tenant: str, sealed: bytes) -> dict[str, str] | None:
        """Transfer a tree and the script's packages to every ready machine; return the error by host.

        The error is empty on success. None if the tree has to be uploaded first.
        """
        label, content = self.open(tenant, sealed)
        if (tenant, label.digest) not in self._trees:
            return None
        ready = self.machines.ready()
        found = await asyncio.gather(*(self._prepare_on(machine.name, label, content) for machine in ready))
        return {f"{each.host} ({each.name})": why for each, why in zip(ready, found, strict=True)}

    async def _prepare_on(self, worker: str, label: Label, content: bytes) -> str:
        kind, value = "tree", ""
        try:
            for _ in range(2):
                sealed = self.keys.seal(replace(label, worker=worker, id=""), content)
                kind, value = await self._engine.call(worker, "prepare", sealed)
                if kind == "tree":
                    kind, value = await self._give_tree(worker, label)
                if kind != "kept":
                    break
        except (FleetError, TimeoutError) as error:
            return str(error) or "timeout"
        return "" if kind == "ready" else str(value)

    # What operators ask

    def status(self, tenant: str | None = None) -> dict[str, Any]:
        """Return machines, tenants and runs; for a tenant, only its own numbers."""
        tenants = self._queue.tenants()
        if tenant is not None:
            return {"protocol": PROTOCOL, "tenants": {tenant: tenants[tenant]} if tenant in tenants else {}}
        return {
            "protocol": PROTOCOL,
            "engine": self._engine.problem,
            "policy_error": self._policy_error,
            "machines": self.machines.rows(),
            "tenants": tenants,
            "running": sum(int(each["running"]) for each in tenants.values()),
            "waiting": sum(int(each["waiting"]) for each in tenants.values()),
        }

    # One run

    async def _drive(self, run: Run) -> None:
        """Send a run to one machine after another until it starts."""
        while True:
            assert run.slot is not None
            try:
                worker = await run.slot
            except asyncio.CancelledError:
                self._queue.withdraw(run.name)
                self._queue.release(run.name)
                if not run.cancelled:
                    raise
                if run.abandoned:  # its program submits it again, should it return
                    self._forget(run)
                else:
                    self._end(run, "cancelled")
                return
            try:
                kind, value = await self._send(run, worker)
            except Exception as error:
                logger.exception("Unexpected failure of a run")
                kind, value = "lost", self._lost_words(worker, f"{type(error).__name__}: {error}")
            self._queue.release(run.name)
            self.machines.answered(worker, kind, run.name)
            if kind == "unfit":
                run.tried[worker] = str(value)
                value = f"The script was not started: {value} (on {self.machines.host(worker)})"
            if run.cancelled and kind != "result":
                kind = "cancelled"
            if kind == "unfit" and self._is_exhausted(run):
                kind = "broken"
            if kind in ("result", "lost", "broken", "cancelled"):
                self._end(run, kind, value)
                return
            run.message = str(value)
            try:
                self._enqueue(run)
            except QueueFullError as error:
                self._end(run, "broken", f"The script was not started: {error}")
                return
            self._grant()

    def _enqueue(self, run: Run) -> None:
        run.state, run.worker, run.slot = "waiting", "", asyncio.get_running_loop().create_future()
        self._queue.submit(run.name, run.tenant, time.monotonic(), run.priority, run.tried.keys())

    def _is_exhausted(self, run: Run) -> bool:
        """Return whether no further machine is to be tried for a run that did not start."""
        return len(run.tried) >= _TRIES or self.machines.usable() <= run.tried.keys()

    async def _send(self, run: Run, worker: str) -> Reply:
        """Return a worker's reply; `lost` if there is none, `elsewhere` if the script never started."""
        run.lost.clear()
        label, content = self.open(run.tenant, run.document)
        for _ in range(2):
            if run.cancelled:
                return "cancelled", ""
            run.worker, run.sent = worker, uuid.uuid4().hex
            sealed = self.keys.seal(replace(label, worker=worker, id=run.sent), content)
            try:
                self._sent.add(run)
            except sqlite3.Error as error:
                return "broken", f"The script was not started: the gateway cannot record it ({error})"
            run.change("running")
            try:
                call = self._engine.call(worker, "run", sealed)
                kind, value = await self._unless_lost(run, call)
            except EngineLostError:
                return await self._recover(run)
            except FleetError as error:
                self._queue.close_worker(worker)  # until its next heartbeat
                if isinstance(error, NoWorkerError):
                    return "elsewhere", ""
                return "lost", self._lost_words(worker, str(error))
            if kind != "tree":
                return kind, value
            if not await self._have_tree(run):
                return "broken", "The script was not started: its tree was not uploaded"
            try:
                kind, value = await self._give_tree(worker, label)
            except (FleetError, TimeoutError) as error:
                return "unfit", str(error) or "timeout"
            if kind != "kept":
                return kind, value
        return "unfit", "the machine does not keep its tree"

    async def _recover(self, run: Run) -> Reply:
        """Ask a machine for the outcome of a run that an earlier driver sent."""
        try:
            async with asyncio.timeout(_RECOVERY):
                while True:
                    await self._engine.ready()
                    try:
                        call = self._engine.call(run.worker, "collect", run.name, run.sent)
                        found = await self._unless_lost(run, call)
                    except EngineLostError:
                        continue
                    return ("result", found) if found is not None else ("elsewhere", "")
        except (TimeoutError, FleetError) as error:
            return "lost", self._lost_words(run.worker, str(error) or "the cluster cannot be reached")

    async def _resume(self, run: Run) -> None:
        """Complete a run that was sent before this gateway was started."""
        kind, value = await self._recover(run)
        self._queue.release(run.name)
        if kind == "elsewhere":  # its program submits it again
            self._forget(run)
        else:
            self._end(run, kind, value)

    async def _unless_lost(self, run: Run, work: Awaitable[T]) -> T:
        """Await `work` and return its result; WorkerGoneError if the machine is lost first."""
        working, lost = asyncio.ensure_future(work), asyncio.create_task(run.lost.wait())
        try:
            await asyncio.wait({working, lost}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise WorkerGoneError(f"no heartbeat for {SILENCE:g} s")
            return await working
        finally:
            working.cancel()
            lost.cancel()

    async def _have_tree(self, run: Run) -> bool:
        """Return whether the tree is here; its program has some time to upload it."""
        if (run.tenant, run.digest) not in self._trees and not run.cancelled:
            run.uploaded.clear()
            run.change("tree")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_TREE):
                    await run.uploaded.wait()
        return (run.tenant, run.digest) in self._trees

    async def _give_tree(self, worker: str, label: Label) -> Reply:
        """Transfer a tree to a machine; return its reply."""
        if (packed := self._trees.get((label.tenant, label.digest))) is None:
            return "broken", "The script was not started: its tree was not uploaded"
        kind, value = await self._engine.call(worker, "add_tree", label.digest, packed, seconds=_TREE)
        if kind == "broken":
            self._trees.pop((label.tenant, label.digest), None)
        return kind, value

    def _lost_words(self, worker: str, why: str) -> str:
        return f"{self.machines.host(worker)} was lost ({why}); the script may have run"

    def _end(self, run: Run, state: str, value: Any = "") -> None:
        self._held -= len(run.document)
        run.document = b""
        if run.abandoned:
            state = "lost"
            value = f"Its program was silent for {PROGRAM_SILENCE:g} s, so the script was killed"
        if state == "result":
            run.answer = value
            self._held += len(value)
            for machine, why in run.tried.items():  # that was not for reasons of the run
                self.machines.strike(machine, why)
        else:
            run.message = str(value)
        run.ended = time.monotonic()
        if state == "broken":
            self._sent.remove(run.name)
        else:
            self._sent.end(run.name)
        run.change(state)
        self._grant()

    def _forget(self, run: Run) -> None:
        """Forget a run that never started; its program submits it again."""
        self._held -= len(run.document)
        self._sent.remove(run.name)
        del self._runs[run.name]

    def _lose(self, worker: str) -> list[str]:
        """Mark the runs on a worker as lost; return their names."""
        lost = [run for run in self._runs.values() if (run.worker, run.state) == (worker, "running")]
        for run in lost:
            run.lost.set()
        return [run.name for run in lost]

    # The queue

    def _grant(self) -> None:
        if self._engine.problem:  # nothing can be sent
            return
        for grant in self._queue.grants(time.monotonic()):
            run = self._runs.get(grant.run)
            if run is None or run.slot is None or run.slot.done():
                self._queue.release(grant.run)
            else:
                run.slot.set_result(grant.worker)

    async def _tend(self) -> None:
        while True:
            now, wakes = time.monotonic(), self._queue.wakes_at
            await asyncio.sleep(_TICK if wakes is None else max(0.001, min(wakes - now, _TICK)))
            now = time.monotonic()
            for run in list(self._runs.values()):
                if run.ended is None:
                    if not run.keep and not run.cancelled and now - run.heard > PROGRAM_SILENCE:
                        run.abandoned = True
                        await self.cancel(run)
                    elif run.tried and run.state == "waiting" and self._is_exhausted(run):
                        self._refuse(run, run.message)
                elif now - run.ended > max(run.keep, _ANSWERED):
                    self._held -= len(run.answer)
                    del self._runs[run.name]
            if self._queue.has_open_worker() and not self._engine.problem:
                self._served = now
            elif now - self._served > STRANDED:
                stranded = (
                    f"The fleet has had no ready machine for {STRANDED:g} s, so the script was not started; "
                    "see: agent fleet status"
                )
                for name in self._queue.waiting():
                    self._refuse(self._runs[name], stranded)
            self._read_policy()
            self._grant()

    def _refuse(self, run: Run, why: str) -> None:
        self._queue.withdraw(run.name)
        if run.task is not None:
            run.task.cancel()
        self._end(run, "broken", why)

    def _read_policy(self) -> None:
        seen = file_stamp(policy_path())
        if seen == self._policy_seen:
            return
        self._policy_seen = seen
        try:
            self._queue.change_policy(read_policy())
            self._policy_error = ""
        except ConfigurationError as error:
            self._policy_error = str(error)
            self._say(str(error))


def _stop_unless_cancelled(task: "asyncio.Task[None]") -> None:
    """Stop a gateway that lost one of its tasks: its supervisor starts it again, and programs continue."""
    if not task.cancelled():
        logger.critical("The gateway stops after an unexpected failure", exc_info=task.exception())
        os.kill(os.getpid(), signal.SIGTERM)
