"""The actor that gives slots of workers to clients, fairly; documents and output never pass through it."""

import asyncio
import contextlib
import time
from dataclasses import dataclass, field
from typing import Any

from skillkit.core.disk import file_stamp
from skillkit.core.exceptions import ConfigurationError
from skillkit.fleet.fair_queue import FairQueue, QueueFullError
from skillkit.fleet.policy import Policy, policy_path, read_policy
from skillkit.fleet.protocol import CLIENT_SILENCE, HEARTBEAT, PROTOCOL, REUSE, SILENCE, STRANDED, Message

_POLL = 2.0
UNKNOWN: Message = ("unknown", "")


@dataclass(slots=True)
class _Client:
    heard: float
    events: list[Message] = field(default_factory=list)
    woken: asyncio.Event = field(default_factory=asyncio.Event)

    def wake(self) -> None:
        """Let a poll answer, unless an exchange has told everything by now."""
        if self.events:
            self.woken.set()


@dataclass(slots=True)
class _Member:
    """A worker as it described itself."""

    facts: dict[str, Any]
    heard: float
    state: str = "ready"
    ending: list[str] = field(default_factory=list)
    """Runs that it is to end, told with the next heartbeat."""


class Dispatcher:
    """One of a fleet's dispatchers. Restarted with nothing; whoever is alive tells it where they are."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._started = time.time()
        self._queue = FairQueue(Policy())
        self._clients: dict[str, _Client] = {}
        self._members: dict[str, _Member] = {}
        self._served = time.monotonic()
        """When there was a machine that takes runs, last."""
        self._policy_seen: object = "never"
        self._policy_error = ""
        self._tending: asyncio.Task[None] | None = None
        self._read_policy()

    async def greet(self, client: str, protocol: int) -> dict[str, Any]:
        """Say who serves whom, before anything else is said."""
        self._tend()
        self._clients.setdefault(client, _Client(0.0)).heard = time.monotonic()
        return {"protocol": PROTOCOL, "dispatchers": self._queue.policy.dispatchers}

    # Clients

    async def exchange(self, client: str, messages: list[Message]) -> list[Message]:
        """Take what a client says and return what there is to say to it."""
        self._tend()
        if (known := self._known(client)) is None:
            return [UNKNOWN]
        now = time.monotonic()
        for kind, run, *rest in messages:
            if kind == "submit":
                self._submit(client, run, *rest)
            elif kind == "adopt":
                self._queue.adopt(run, rest[0], rest[1], client, now)
            elif kind == "withdraw":
                self._queue.withdraw(run)
                self._queue.release(run)
            elif kind == "release":
                self._queue.release(run, rest[0])
            else:
                self._queue.release(run)
                self._suspect(rest[0])
        self._grant()
        return self._collect(known)

    async def poll(self, client: str) -> list[Message]:
        """Return what there is to say to a client, at the latest after two seconds: a sign of life."""
        if (known := self._known(client)) is None:
            return [UNKNOWN]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_POLL):
                while not known.events:  # an exchange may have told what this was woken for
                    known.woken.clear()
                    await known.woken.wait()
        known.heard = time.monotonic()
        return self._collect(known)

    async def leave(self, client: str) -> None:
        """Forget a client that has nothing left to ask; that its last runs ended it may not have said."""
        for grant in self._queue.drop_client(client):
            self._queue.release(grant.run)
        self._clients.pop(client, None)
        self._grant()

    # Workers

    async def beat(self, worker: str, facts: dict[str, Any]) -> dict[str, Any]:
        """Take a worker's sign of life and what it says about itself; return its state and runs to end."""
        self._tend()
        member = self._members.get(worker)
        if member is None:
            member = self._members[worker] = _Member(facts, 0.0)
            self._replace_older(worker, facts)
        member.facts, member.heard = facts, time.monotonic()
        if facts["protocol"] != PROTOCOL:
            member.state = "other version"
        elif facts.get("finishing"):
            self._close(worker, "draining")
        elif member.state in ("ready", "suspect", "silent", "other version"):
            if member.state != "ready" or not self._queue.has_worker(worker):
                self._queue.add_worker(worker, facts["slots"])
            member.state = "ready"
        ending, member.ending = member.ending, []
        self._grant()
        return {"state": member.state, "end": ending}

    async def retire(self, worker: str, *, ended: bool = False) -> None:
        """Forget a worker that has died, or has `ended` after what ran there."""
        self._members.pop(worker, None)
        if ended:
            self._queue.remove_worker(worker)
        else:
            self._tell_lost(worker)

    async def drain(self, node: str) -> list[str]:
        """Start nothing more on a machine, given by id, name or address; return its workers."""
        found = [
            worker
            for worker, member in self._members.items()
            if node in (worker, *(str(member.facts.get(key)) for key in ("node", "host", "address")))
        ]
        for worker in found:
            self._close(worker, "draining")
        return found

    async def status(self) -> dict[str, Any]:
        """Return everything that `agent fleet status` shows of this dispatcher."""
        now = time.monotonic()
        return {
            "number": self._number,
            "protocol": PROTOCOL,
            "started": self._started,
            "policy_error": self._policy_error,
            "clients": len(self._clients),
            "tenants": self._queue.tenants(),
            "workers": {
                name: {
                    **member.facts,
                    "state": member.state,
                    "running": self._queue.used(name),
                    "silent_for": round(now - member.heard, 1),
                }
                for name, member in sorted(self._members.items())
            },
        }

    # Inside

    def _known(self, name: str) -> _Client | None:
        """Return a client that was greeted; one that was forgotten has to say again what it waits for."""
        if (known := self._clients.get(name)) is not None:
            known.heard = time.monotonic()
        return known

    def _submit(self, client: str, run: str, tenant: str, priority: int) -> None:
        if (worker := self._queue.worker_of(run)) is not None:  # the answer that said so did not arrive
            self._say(client, ("granted", run, worker, 0.0))
            return
        try:
            self._queue.submit(run, tenant, client, time.monotonic(), priority)
        except QueueFullError as error:
            self._say(client, ("refused", run, str(error)))

    def _collect(self, client: _Client) -> list[Message]:
        events, client.events = client.events, []
        return events

    def _say(self, name: str, message: Message) -> None:
        if (client := self._clients.get(name)) is not None:
            client.events.append(message)
            asyncio.get_running_loop().call_soon(client.wake)

    def _grant(self) -> None:
        for grant in self._queue.grants(time.monotonic()):
            seconds = REUSE if grant.reusable else 0.0
            self._say(grant.client, ("granted", grant.run, grant.worker, seconds))
        if self._queue.is_short():
            self._call_back()

    def _call_back(self, worker: str | None = None) -> None:
        """Let slots be given back as soon as nothing runs in them; one that is idle comes back at once."""
        for grant in self._queue.call_back(worker):
            self._say(grant.client, ("wanted", grant.run))

    def _close(self, worker: str, state: str) -> None:
        """Start nothing more on a worker; what runs there goes on."""
        self._members[worker].state = state
        self._queue.close_worker(worker)
        self._call_back(worker)

    def _suspect(self, worker: str) -> None:
        """Start nothing more on a worker that a client could not reach, until it gives a sign of life."""
        if (member := self._members.get(worker)) is not None and member.state == "ready":
            self._close(worker, "suspect")

    def _replace_older(self, worker: str, facts: dict[str, Any]) -> None:
        """A worker that was started anew on its machine has lost what the one before it ran."""
        for name, member in list(self._members.items()):
            if name != worker and member.facts.get("place") == facts.get("place"):
                del self._members[name]
                self._tell_lost(name)

    def _tell_lost(self, worker: str) -> None:
        for grant in self._queue.remove_worker(worker):
            self._say(grant.client, ("lost", grant.run))

    def _tend(self) -> None:
        if self._tending is None or self._tending.done():
            self._tending = asyncio.get_running_loop().create_task(self._tend_forever())

    async def _tend_forever(self) -> None:
        while True:
            now = time.monotonic()
            wakes = self._queue.wakes_at()
            await asyncio.sleep(
                HEARTBEAT / 2 if wakes is None else max(0.001, min(wakes - now, HEARTBEAT / 2))
            )
            late, now = time.monotonic() - now > SILENCE / 2, time.monotonic()
            if late:  # it was this process that slept: nobody else may be blamed for that
                for member in self._members.values():
                    member.heard = now
                for client in self._clients.values():
                    client.heard = now
            self._forget_silent(now)
            self._refuse_stranded(now)
            self._read_policy()
            self._grant()

    def _forget_silent(self, now: float) -> None:
        for name, member in list(self._members.items()):
            if now - member.heard > 60 * SILENCE:
                del self._members[name]
            elif now - member.heard > SILENCE and member.state != "silent":
                member.state = "silent"
                self._tell_lost(name)
        for name, client in list(self._clients.items()):
            if now - client.heard > CLIENT_SILENCE:
                for grant in self._queue.drop_client(name):
                    if grant.worker in self._members:
                        self._members[grant.worker].ending.append(grant.run)
                    self._queue.release(grant.run)
                del self._clients[name]

    def _refuse_stranded(self, now: float) -> None:
        if self._queue.has_open_worker():
            self._served = now
        elif now - self._served > STRANDED:
            why = f"The fleet has had no machine that takes runs for {now - self._served:.0f} s; join one"
            for run, client in self._queue.dismiss():
                self._say(client, ("refused", run, why))

    def _read_policy(self) -> None:
        seen = file_stamp(policy_path())
        if seen == self._policy_seen:
            return
        self._policy_seen = seen
        try:
            self._queue.change_policy(read_policy())
            self._call_back()
            self._policy_error = ""
        except ConfigurationError as error:
            self._policy_error = str(error)
