"""Holds the runs, the queue and the machines of a fleet; programs reach it through `gateway_http`."""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from skillkit.core.disk import file_stamp, make_folder
from skillkit.core.exceptions import ConfigurationError
from skillkit.fleet.cluster import HEARTBEAT, PROGRAM_SILENCE, PROTOCOL, SILENCE, STRANDED, FleetError
from skillkit.fleet.engine import Engine, EngineLostError, NoWorkerError, WorkerGoneError
from skillkit.fleet.fair_queue import FairQueue, QueueFullError
from skillkit.fleet.gateway_disk import SentLog, TreeFolder
from skillkit.fleet.policy import Policy, policy_path, read_policy
from skillkit.fleet.sealing import MAX_AGE, FleetKeys, Label, SealError, binding

logger = logging.getLogger(__name__)

MAX_DOCUMENTS = 1 << 30
"""Bytes of waiting requests that the gateway holds; one more is refused."""
_TRIES = 3
"""Machines on which a run that did not start is tried."""
_STRIKES = 3
_PENALTY = 30.0
"""Seconds for which a machine takes nothing after several runs in a row did not start there."""
_RECOVERY = 60.0
"""Seconds within which a new driver has to reach the machine of a run that was sent before."""
_TREE = 120.0
"""Seconds in which a tree has to arrive at a machine."""
MAX_TREES = 1 << 30
"""Bytes of trees that are kept for each tenant."""
_ANSWERED = 60.0
"""Seconds for which an answer can be asked for again."""

T = TypeVar("T")


@dataclass(slots=True)
class Run:
    """A run of a program, from its submission until its answer was fetched."""

    name: str
    tenant: str
    digest: str
    document: bytes = b""
    priority: int = 0
    keep: float = 0.0
    follow: bool = False
    state: str = "waiting"
    """`waiting`, `running`, `tree` while its tree is missing, or how it ended: `result`, `lost`, `broken`,
    `cancelled`."""
    worker: str = ""
    ticket: str = ""
    answer: bytes = b""
    message: str = ""
    output: list[bytes] = field(default_factory=list)
    heard: float = field(default_factory=time.monotonic)
    ended: float | None = None
    cancelled: bool = False
    slot: "asyncio.Future[str] | None" = None
    lost: asyncio.Event = field(default_factory=asyncio.Event)
    uploaded: asyncio.Event = field(default_factory=asyncio.Event)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    task: "asyncio.Task[None] | None" = None


@dataclass(slots=True)
class Machine:
    """A worker as its heartbeats describe it."""

    name: str
    facts: dict[str, Any] = field(default_factory=dict)
    heard: float = field(default_factory=time.monotonic)
    state: str = ""
    """`ready`, `draining`, `silent`, `unfit`, `other version`; empty before the first heartbeat."""
    reason: str = ""
    draining: bool = False
    strikes: int = 0
    barred_until: float = 0.0
    ending: list[str] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)
    task: "asyncio.Task[None] | None" = None

    @property
    def host(self) -> str:
        return str(self.facts.get("host") or self.name)


class Gateway:
    """Runs are started at most once; whatever dies, every run is answered."""

    def __init__(
        self,
        engine: Engine,
        keys: FleetKeys,
        home: Path,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.keys = keys
        self._engine = engine
        self._log = SentLog(home / "sent.jsonl")
        self._trees = home / "trees"
        self._say = say
        self._queue = FairQueue(Policy())
        self._runs: dict[str, Run] = {}
        self._machines: dict[str, Machine] = {}
        self._held = 0
        self._served = time.monotonic()
        self._policy_seen: object = "never"
        self._policy_error = ""

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Keep the engine, the machines and the queue going."""
        make_folder(self._log.path.parent)
        self._read_policy()
        for record in self._log.read():
            run = Run(**record, state="running")
            self._runs[run.name] = run
            self._queue.adopt(run.name, run.tenant, run.worker, time.monotonic())
            run.task = asyncio.create_task(self._resume(run))
        tasks = [
            asyncio.create_task(each) for each in (self._engine.keep_running(), self._find(), self._tend())
        ]
        try:
            yield
        finally:
            tasks += [run.task for run in self._runs.values() if run.task is not None]
            tasks += [machine.task for machine in self._machines.values() if machine.task is not None]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    # What programs ask

    def submit(self, tenant: str, sealed: bytes, priority: int) -> Run:
        """Take a run; a second submission of the same run returns the first one."""
        label, _ = self.keys.open(sealed)
        if label.tenant != tenant or label.kind != "request":
            raise SealError("not a request of this tenant")
        if (known := self.find(tenant, label.run)) is not None:
            return known
        if label.run in self._runs:
            raise SealError("run name in use")
        if abs(time.time() - label.issued) > MAX_AGE:
            raise SealError(f"request older than {MAX_AGE:g} s, or the clocks differ by that")
        if self._held + len(sealed) > MAX_DOCUMENTS:
            raise FleetError("the gateway holds too many waiting requests; try again later")
        run = Run(label.run, tenant, label.digest, sealed, priority, label.keep, label.follow)
        self._enqueue(run)  # QueueFullError before anything is kept
        self._held += len(sealed)
        self._runs[run.name] = run
        run.task = asyncio.create_task(self._drive(run))
        self._grant()
        return run

    def find(self, tenant: str, name: str) -> Run | None:
        """Return a tenant's run; another tenant's does not exist."""
        run = self._runs.get(name)
        if run is None or run.tenant != tenant:
            return None
        run.heard = time.monotonic()
        return run

    async def wait(self, run: Run, position: int, seconds: float, *, start: bool = False) -> None:
        """Return when the program has something to do or the time is over.

        That is when the run has ended, its tree is missing, it has more output than `position`, or has
        started and `start` asks for that.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not (
                    run.ended is not None
                    or run.state == "tree"
                    or len(run.output) > position
                    or (start and run.state == "running")
                ):
                    run.changed.clear()
                    await run.changed.wait()
        run.heard = time.monotonic()

    async def cancel(self, run: Run) -> None:
        """End a run; its state says so when the script is gone."""
        if run.ended is not None or run.cancelled:
            return
        run.cancelled = True
        run.uploaded.set()
        if run.slot is not None and not run.slot.done():
            run.slot.cancel()
        elif run.worker:
            with contextlib.suppress(FleetError, TimeoutError):
                await self._engine.call(run.worker, "cancel", run.name, seconds=SILENCE)

    def trees(self, tenant: str) -> TreeFolder:
        """Where the trees of a tenant are: what one uploads is never another one's."""
        return TreeFolder(self._trees / f"of-{tenant}")

    async def add_tree(self, tenant: str, digest: str, packed: bytes) -> None:
        """Keep a tree for a tenant's runs; machines compare it with its digest."""
        kept = self.trees(tenant)
        await asyncio.to_thread(kept.put, digest, packed)
        await asyncio.to_thread(kept.trim, MAX_TREES)
        for run in self._runs.values():
            if (run.tenant, run.digest) == (tenant, digest):
                run.uploaded.set()

    async def prepare(self, tenant: str, sealed: bytes) -> dict[str, str]:
        """Bring a tree and what its script needs to every ready machine; return why not, by host."""
        label, _ = self.keys.open(sealed)
        if label.tenant != tenant:
            raise SealError("not a request of this tenant")
        ready = [machine for machine in self._machines.values() if machine.state == "ready"]
        found = await asyncio.gather(*(self._prepare_on(machine.name, label, sealed) for machine in ready))
        return {f"{each.host} ({each.name})": why for each, why in zip(ready, found, strict=True)}

    async def _prepare_on(self, worker: str, label: Label, sealed: bytes) -> str:
        try:
            ticket = self._ticket(label, worker, sealed)[1]
            kind, value = await self._engine.call(worker, "prepare", ticket, sealed)
            if kind == "tree":
                kind, value = await self._give_tree(worker, label)
                if kind == "kept":
                    ticket = self._ticket(label, worker, sealed)[1]
                    kind, value = await self._engine.call(worker, "prepare", ticket, sealed)
        except (FleetError, TimeoutError) as error:
            return str(error) or "timeout"
        return "" if kind == "ready" else str(value)

    # What operators ask

    def status(self, tenant: str | None = None) -> dict[str, Any]:
        """Return machines, tenants and runs; for a tenant only its own numbers."""
        tenants = self._queue.tenants()
        if tenant is not None:
            return {"protocol": PROTOCOL, "tenants": {tenant: tenants[tenant]} if tenant in tenants else {}}
        now = time.monotonic()
        machines = [
            {
                **machine.facts,
                "name": machine.name,
                "state": machine.state or "joining",
                "reason": machine.reason,
                "running": self._queue.used(machine.name),
                "silent_for": round(now - machine.heard, 1),
            }
            for _, machine in sorted(self._machines.items())
        ]
        return {
            "protocol": PROTOCOL,
            "engine": self._engine.problem,
            "policy_error": self._policy_error,
            "machines": machines,
            "tenants": tenants,
            "running": sum(int(each["running"]) for each in tenants.values()),
            "waiting": sum(int(each["waiting"]) for each in tenants.values()),
        }

    async def drain(self, machine: str) -> list[str]:
        """Start nothing more on a machine, given by name, host or address; return its workers."""
        found = [
            each
            for each in self._machines.values()
            if machine in (each.name, each.facts.get("host"), each.facts.get("address"))
        ]
        for each in found:
            each.draining = True
            self._judge(each)
            with contextlib.suppress(FleetError, TimeoutError):
                await self._engine.call(each.name, "finish", seconds=SILENCE)
        return [each.name for each in found]

    # One run

    async def _drive(self, run: Run) -> None:
        """Send a run to one machine after another until it starts on one."""
        tries = 0
        while True:
            try:
                worker = await self._slot(run)
            except asyncio.CancelledError:
                if not run.cancelled:
                    raise
                self._end(run, "cancelled")
                return
            kind, value = await self._send(run, worker)
            self._queue.release(run.name)
            machine = self._machines.get(worker)
            tries += kind == "unfit"
            if kind == "unfit":
                self._strike(worker, str(value))
                value = f"The script was not started: {value} (on {machine.host if machine else worker})"
            elif kind == "finishing" and machine is not None:
                machine.draining = True
                self._judge(machine)
            elif kind == "result" and machine is not None:
                machine.strikes = 0
                machine.taken.append(run.name)
            if run.cancelled and kind != "result":
                kind = "cancelled"
            if kind in ("result", "lost", "broken", "cancelled") or tries >= _TRIES:
                self._end(run, "broken" if kind == "unfit" else kind, value)
                return
            try:
                self._enqueue(run)
            except QueueFullError as error:
                self._end(run, "broken", f"The script was not started: {error}")
                return
            self._grant()

    def _enqueue(self, run: Run) -> None:
        run.state, run.worker, run.slot = "waiting", "", asyncio.get_running_loop().create_future()
        self._queue.submit(run.name, run.tenant, time.monotonic(), run.priority)

    async def _slot(self, run: Run) -> str:
        assert run.slot is not None
        try:
            return await run.slot
        except asyncio.CancelledError:
            self._queue.withdraw(run.name)
            self._queue.release(run.name)
            raise

    async def _send(self, run: Run, worker: str) -> tuple[str, Any]:
        """Return a worker's reply; `lost` if there is none, `elsewhere` if the script never started."""
        run.lost.clear()
        label = Label(run.name, run.tenant, run.digest, keep=run.keep, follow=run.follow)
        for last in (False, True):
            run.ticket, ticket = self._ticket(label, worker, run.document)
            run.worker = worker
            self._log.sent(run)
            self._change(run, "running")
            following = asyncio.create_task(self._follow(run)) if run.follow else None
            try:
                kind, value = await self._unless_lost(
                    run, self._engine.call(worker, "run", ticket, run.document)
                )
            except EngineLostError:
                return await self._recover(run)
            except FleetError as error:
                self._queue.close_worker(worker)  # until its next heartbeat
                if isinstance(error, NoWorkerError):
                    return "elsewhere", ""
                return "lost", self._lost_words(worker, str(error))
            finally:
                if following is not None:
                    await asyncio.wait([following], timeout=2 * HEARTBEAT)
                    following.cancel()
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
            if last:
                return "unfit", "the machine does not keep its tree"
        raise AssertionError

    async def _recover(self, run: Run) -> tuple[str, Any]:
        """Ask a machine what became of a run that an earlier driver sent."""
        try:
            async with asyncio.timeout(_RECOVERY):
                while True:
                    await self._engine.ready()
                    try:
                        call = self._engine.call(run.worker, "collect", run.name, run.ticket)
                        found = await self._unless_lost(run, call)
                    except EngineLostError:
                        continue
                    except WorkerGoneError as error:
                        return "lost", self._lost_words(run.worker, str(error))
                    return ("result", found) if found is not None else ("elsewhere", "")
        except (TimeoutError, FleetError) as error:
            return "lost", self._lost_words(run.worker, str(error) or "the cluster cannot be reached")

    async def _resume(self, run: Run) -> None:
        """Answer a run that was sent before this gateway was started."""
        kind, value = await self._recover(run)
        self._queue.release(run.name)
        if kind == "elsewhere":  # its program submits it again
            self._log.ended(run)
            self._runs.pop(run.name, None)
        else:
            self._end(run, kind, value)

    async def _unless_lost(self, run: Run, work: Awaitable[T]) -> T:
        """Return what `work` returns; FleetError when the machine falls silent first."""
        working, lost = asyncio.ensure_future(work), asyncio.create_task(run.lost.wait())
        try:
            await asyncio.wait({working, lost}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise WorkerGoneError(f"no heartbeat for {SILENCE:g} s")
            return await working
        finally:
            working.cancel()
            lost.cancel()

    async def _follow(self, run: Run) -> None:
        position = 0
        with contextlib.suppress(FleetError):
            while True:
                found, sealed = await self._engine.call(run.worker, "output", run.name, position)
                if found < 0 and position:
                    return
                if sealed:
                    run.output.append(sealed)
                    run.changed.set()
                    position = found
                else:
                    await asyncio.sleep(0.02 if found < 0 else 0)

    def _ticket(self, label: Label, worker: str, sealed: bytes) -> tuple[str, bytes]:
        """Return the id of a new ticket, and the ticket."""
        words = Label(
            label.run, label.tenant, label.digest, "ticket", worker, binding(sealed), label.keep, label.follow
        )
        ticket = self.keys.seal(words)
        return self.keys.open(ticket)[0].id, ticket

    async def _have_tree(self, run: Run) -> bool:
        """Return whether the tree is here; its program has some time to upload it."""
        has = self.trees(run.tenant).has
        if not await asyncio.to_thread(has, run.digest) and not run.cancelled:
            run.uploaded.clear()
            self._change(run, "tree")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_TREE):
                    await run.uploaded.wait()
        return await asyncio.to_thread(has, run.digest)

    async def _give_tree(self, worker: str, label: Label) -> tuple[str, Any]:
        """Bring a tree to a machine; return its reply."""
        trees = self.trees(label.tenant)
        packed = await asyncio.to_thread(trees.get, label.digest)
        if packed is None:
            return "broken", "its tree was not uploaded"
        async with asyncio.timeout(_TREE):
            kind, value = await self._engine.give_tree(worker, label.digest, packed)
        if kind == "broken":
            trees.remove(label.digest)
        return kind, value

    def _lost_words(self, worker: str, why: str) -> str:
        machine = self._machines.get(worker)
        return f"{machine.host if machine else 'The machine'} was lost ({why}); the script may have run"

    def _end(self, run: Run, state: str, value: Any = "") -> None:
        self._held -= len(run.document)
        run.document = b""
        if state == "result":
            run.answer = value
        else:
            run.message = str(value)
        run.ended = time.monotonic()
        self._log.ended(run)
        self._change(run, state)
        self._grant()

    def _change(self, run: Run, state: str) -> None:
        run.state = state
        run.changed.set()

    # Machines

    async def _find(self) -> None:
        while True:
            try:
                names = await self._engine.workers()
            except EngineLostError:
                await self._engine.ready()
                continue
            except (TimeoutError, FleetError):
                names = []
            for name in names:
                if name not in self._machines:
                    machine = self._machines[name] = Machine(name)
                    machine.task = asyncio.create_task(self._hear(machine))
            await asyncio.sleep(HEARTBEAT)

    async def _hear(self, machine: Machine) -> None:
        """Exchange heartbeats with a worker until it is gone."""
        while True:
            ending, machine.ending = machine.ending, []
            taken, machine.taken = machine.taken, []
            try:
                facts = await self._engine.call(
                    machine.name, "beat", machine.state, ending, taken, seconds=2 * HEARTBEAT
                )
            except EngineLostError:
                await self._engine.ready()
                machine.heard = time.monotonic()  # it was us who did not listen
                continue
            except WorkerGoneError:
                break
            except (TimeoutError, FleetError):
                machine.ending += ending
                if time.monotonic() - machine.heard > SILENCE and machine.state != "silent":
                    self._give_up(machine)
                await asyncio.sleep(HEARTBEAT / 4)
                continue
            machine.heard, machine.facts = time.monotonic(), facts
            self._replace_older(machine)
            self._judge(machine)
            self._grant()
            await asyncio.sleep(HEARTBEAT)
        self._forget(machine)

    def _judge(self, machine: Machine) -> None:
        """Decide whether a machine takes runs."""
        facts, now = machine.facts, time.monotonic()
        if facts.get("protocol") != PROTOCOL:
            machine.state, machine.reason = "other version", f"skillkit {facts.get('version')}"
        elif machine.draining or facts.get("finishing"):
            machine.state, machine.reason = "draining", ""
        elif facts.get("unfit") or now < machine.barred_until:
            machine.state = "unfit"
            machine.reason = facts.get("unfit") or machine.reason
        else:
            machine.state, machine.reason = "ready", ""
        if machine.state == "ready":
            self._queue.add_worker(machine.name, max(1, int(facts["slots"])))
        else:
            self._queue.close_worker(machine.name)

    def _strike(self, worker: str, why: str) -> None:
        """Send a machine nothing more until its next heartbeat; after several strikes, for longer."""
        if (machine := self._machines.get(worker)) is None:
            return
        machine.strikes += 1
        machine.reason = why
        if machine.strikes >= _STRIKES:
            machine.barred_until = time.monotonic() + _PENALTY
            machine.strikes = 0
        machine.state = "unfit"
        self._queue.close_worker(worker)

    def _give_up(self, machine: Machine) -> None:
        """What runs on a silent machine is lost; if it comes back, it is told to end that."""
        machine.state, machine.reason = "silent", ""
        self._queue.close_worker(machine.name)
        for run in self._runs.values():
            if run.worker == machine.name and run.state == "running":
                machine.ending.append(run.name)
                run.lost.set()

    def _replace_older(self, machine: Machine) -> None:
        """A worker that was started anew at its place has lost what the one before it ran."""
        for other in list(self._machines.values()):
            if other is not machine and other.facts.get("place") == machine.facts.get("place"):
                self._give_up(other)
                self._forget(other)

    def _forget(self, machine: Machine) -> None:
        self._queue.remove_worker(machine.name)
        self._machines.pop(machine.name, None)
        for run in self._runs.values():
            if run.worker == machine.name and run.state == "running":
                run.lost.set()
        if machine.task is not None and machine.task is not asyncio.current_task():
            machine.task.cancel()

    # The queue

    def _grant(self) -> None:
        for grant in self._queue.grants(time.monotonic()):
            run = self._runs.get(grant.run)
            if run is None or run.slot is None or run.slot.done():
                self._queue.release(grant.run)
            else:
                run.slot.set_result(grant.worker)

    async def _tend(self) -> None:
        while True:
            now = time.monotonic()
            wakes = self._queue.wakes_at()
            await asyncio.sleep(
                HEARTBEAT / 2 if wakes is None else max(0.001, min(wakes - now, HEARTBEAT / 2))
            )
            now = time.monotonic()
            for run in list(self._runs.values()):
                if run.ended is None:
                    if not run.keep and not run.cancelled and now - run.heard > PROGRAM_SILENCE:
                        await self.cancel(run)
                elif now - run.ended > max(run.keep, _ANSWERED):
                    del self._runs[run.name]
            if self._queue.has_open_worker():
                self._served = now
            elif now - self._served > STRANDED:
                self._refuse_waiting(f"The fleet has had no ready machine for {STRANDED:g} s")
            self._read_policy()
            self._grant()

    def _refuse_waiting(self, why: str) -> None:
        for name in self._queue.waiting():
            run = self._runs[name]
            self._queue.withdraw(name)
            if run.task is not None:
                run.task.cancel()
            self._end(run, "broken", f"{why}, so the script was not started; see: agent fleet status")

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
