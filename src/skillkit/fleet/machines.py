"""The machines of a fleet and their state, from heartbeats."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from skillkit._version import __version__
from skillkit.fleet.cluster import HEARTBEAT, PROTOCOL, SILENCE, FleetError
from skillkit.fleet.engine import Engine, EngineLostError, WorkerGoneError
from skillkit.fleet.fair_queue import FairQueue

_MISSED = 3600.0
"""Seconds for which a machine that left without being drained is shown as missing."""
_REMEDIES = {
    "unfit": "fix the cause; the machine is then used again automatically",
    "silent": "look at its network and load; if it hangs: systemctl restart skillkit-ray skillkit-worker",
    "missing": "start its Ray and worker: systemctl restart skillkit-ray skillkit-worker",
    "other version": f"install skillkit {__version__} there, then: systemctl restart skillkit-worker",
}


@dataclass(slots=True)
class Machine:
    """A worker as described by its heartbeats."""

    name: str
    facts: dict[str, Any] = field(default_factory=dict)
    heard: float = field(default_factory=time.monotonic)
    state: str = ""
    """`ready`, `draining`, `silent`, `unfit`, `other version`, `missing`; empty at first."""
    reason: str = ""
    draining: bool = False
    struck: str = ""
    """Why a run did not start here that started elsewhere; empty once a probe has succeeded."""
    ending: list[str] = field(default_factory=list)
    """Abandoned runs, to be killed on the machine."""
    taken: list[str] = field(default_factory=list)
    """Runs whose results have arrived, to be dropped by the machine."""
    task: "asyncio.Task[None] | None" = None
    told: list[str] = field(default_factory=list)
    """The addresses of the cluster that were sent to it."""

    @property
    def host(self) -> str:
        return str(self.facts.get("host") or self.name)

    @property
    def place(self) -> tuple[Any, Any]:
        return self.facts.get("host"), self.facts.get("address")


class Machines:
    """Finds workers, exchanges heartbeats with them, and opens and closes them in the queue."""

    def __init__(
        self, engine: Engine, queue: FairQueue, lose: Callable[[str], list[str]], changed: Callable[[], None]
    ) -> None:
        """`lose` abandons a worker's runs and returns their names; `changed` may start waiting ones."""
        self._engine = engine
        self._queue = queue
        self._lose = lose
        self._changed = changed
        self._known: dict[str, Machine] = {}
        self._missing: dict[tuple[Any, Any], Machine] = {}

    def host(self, worker: str) -> str:
        """Return the host name of a worker for messages."""
        every = (*self._known.values(), *self._missing.values())
        return next((machine.host for machine in every if machine.name == worker), "The machine")

    def ready(self) -> list[Machine]:
        return [machine for machine in self._known.values() if machine.state == "ready"]

    def usable(self) -> set[str]:
        """Return the workers that take runs, or may soon do."""
        return {name for name, machine in self._known.items() if machine.state in ("", "ready", "silent")}

    def rows(self) -> list[dict[str, Any]]:
        """Return every machine, including missing ones, for the status."""
        now = time.monotonic()
        self._missing = {at: each for at, each in self._missing.items() if now - each.heard < _MISSED}
        return [
            {
                **machine.facts,
                "name": machine.name,
                "state": machine.state or "joining",
                "reason": machine.reason,
                "remedy": _REMEDIES.get(machine.state, ""),
                "running": self._queue.used(machine.name),
                "silent_for": round(now - machine.heard, 1),
            }
            for machine in sorted([*self._known.values(), *self._missing.values()], key=lambda it: it.host)
        ]

    async def find(self) -> None:
        """Find every worker of the cluster, until cancelled."""
        try:
            while True:
                names: list[str] = []
                try:
                    names = await self._engine.workers()
                except EngineLostError:
                    await self._engine.ready()
                    continue
                except (TimeoutError, FleetError):
                    pass
                for name in set(names) - set(self._known):
                    machine = self._known[name] = Machine(name)
                    machine.task = asyncio.create_task(self._hear(machine))
                await asyncio.sleep(HEARTBEAT)
        finally:
            for machine in self._known.values():
                if machine.task is not None:
                    machine.task.cancel()

    async def _hear(self, machine: Machine) -> None:
        """Exchange heartbeats with a worker until it is gone."""
        while True:
            ending, machine.ending = machine.ending, []
            taken, machine.taken = machine.taken, []
            cluster = list(self._engine.addresses)
            news = (machine.state, ending, taken, None if cluster == machine.told else cluster)
            try:
                machine.facts = await self._engine.call(machine.name, "beat", *news, seconds=2 * HEARTBEAT)
                machine.told = cluster
            except EngineLostError:
                machine.ending += ending
                await self._engine.ready()
                machine.heard = time.monotonic()  # the gateway itself was stalled
                continue
            except WorkerGoneError:
                break
            except (TimeoutError, FleetError):
                machine.ending += ending
                if time.monotonic() - machine.heard > SILENCE and machine.state != "silent":
                    machine.state, machine.reason = "silent", "no heartbeat"
                    self._queue.close_worker(machine.name)
                    machine.ending += self._lose(machine.name)
                await asyncio.sleep(HEARTBEAT / 4)
                continue
            machine.heard = time.monotonic()
            if news[0] == "unfit" and not machine.facts.get("unfit"):
                machine.struck = ""
            self._missing.pop(machine.place, None)
            self.judge(machine)
            self._changed()
            await asyncio.sleep(HEARTBEAT)
        self._queue.remove_worker(machine.name)
        del self._known[machine.name]
        if machine.facts and not (machine.draining or machine.facts.get("finishing")):
            if machine.state != "other version":
                machine.state, machine.reason = "missing", "its worker ended"
            self._missing[machine.place] = machine
        self._lose(machine.name)

    def judge(self, machine: Machine) -> None:
        """Decide whether a machine may get runs."""
        facts = machine.facts
        if facts.get("protocol") != PROTOCOL:
            machine.state, machine.reason = "other version", f"skillkit {facts.get('version')}"
        elif machine.draining or facts.get("finishing"):
            machine.state, machine.reason = "draining", ""
        elif reason := machine.struck or facts.get("unfit"):
            machine.state, machine.reason = "unfit", reason
        else:
            machine.state, machine.reason = "ready", ""
        if machine.state == "ready":
            self._queue.add_worker(machine.name, max(1, int(facts["slots"])))
        else:
            self._queue.close_worker(machine.name)

    def strike(self, worker: str, why: str) -> None:
        """Send no runs to a machine until a probe succeeds there."""
        if (machine := self._known.get(worker)) is not None:
            machine.struck = why
            self.judge(machine)

    def answered(self, worker: str, kind: str, run: str) -> None:
        """Record the outcome of a run on a machine."""
        if (machine := self._known.get(worker)) is None:
            return
        if kind == "result":
            machine.taken.append(run)
        elif kind == "finishing":
            machine.draining = True
            self.judge(machine)

    async def drain(self, name: str) -> list[str]:
        """Start no more runs on a machine, given by name, host or address, or drop a missing one.

        Returns its workers.
        """
        gone = [place for place, each in self._missing.items() if name in (each.name, *place)]
        found = [each for each in self._known.values() if name in (each.name, *each.place)]
        for each in found:
            each.draining = True
            self.judge(each)
            with suppress(FleetError, TimeoutError):
                await self._engine.call(each.name, "finish", seconds=SILENCE)
        return [each.name for each in (*found, *(self._missing.pop(place) for place in gone))]
