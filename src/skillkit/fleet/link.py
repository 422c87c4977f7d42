"""A client's line to a dispatcher: asks for slots in batches, keeps them a while, starts over with it."""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from skillkit.core.threads import in_daemon_thread
from skillkit.fleet.cluster import FleetError, ray_value
from skillkit.fleet.protocol import PROTOCOL, Message

logger = logging.getLogger(__name__)

_PATIENCE = 4.0
"""Seconds for one answer."""
_LOOKS = 8
"""How often an answer is looked for in that time: a program too busy to look blames nobody."""
_FIRST_PATIENCE = 30.0
"""Seconds for the first, of a dispatcher that has to be started."""
_GIVES_UP = 8.0
"""Seconds without a dispatcher after which waiting runs are answered."""
_MOST_EXCHANGES = 2
"""On their way at once, so that a run need not wait until the slot of the one before it is given back."""
_TOGETHER = 0.002
"""Seconds that a slot is given back later when nothing of ours waits: the caller has its result by then, and
whoever asks for the next run at once has it told in the same exchange."""
_IDLE = 10.0
_AGAIN = 0.2
_GONE = "This program has left the fleet"


class NotStartedError(FleetError):
    """A run that got no slot; its script was not started."""


class _ForgottenError(FleetError):
    """The dispatcher heard nothing of this client for so long that it counted it as ended."""


@dataclass(slots=True)
class Lease:
    """A slot of a worker, for one run at a time."""

    slot: str
    tenant: str
    worker: str
    lost: "asyncio.Future[None]"
    """Done when the dispatcher says that the worker is lost."""
    until: float = 0.0
    """Further runs may start in it before, and when nothing runs in it then, it is given back."""
    further: int = 0
    """Runs that were started in it after the one it was granted to."""


@dataclass(slots=True)
class _Asked:
    run: str
    tenant: str
    priority: int
    answer: "asyncio.Future[Lease]" = field(repr=False)
    called_back: bool = False
    """Its slot is wanted back, which was heard before it was granted: answers overtake each other."""


class DispatcherLink:
    """Everything one client says to one dispatcher; lives on one event loop."""

    def __init__(self, ray: Any, find: Callable[[], Any], client: str) -> None:
        self._ray = ray
        self._find = find
        self._client = client
        self._dispatcher: Any = None
        self._asked: dict[str, _Asked] = {}
        self._leases: dict[str, Lease] = {}
        self._idle: dict[str, Lease] = {}
        """Slots in which nothing runs at the moment."""
        self._outbox: list[Message] = []
        self._sending: list[asyncio.Task[None]] = []
        self._listening: asyncio.Task[None] | None = None
        self._connecting = asyncio.Lock()
        self._was_connected = False
        self._generation = 0
        self._failing_since: float | None = None
        self._closed = False

    async def lease(self, run: str, tenant: str, priority: int = 0) -> Lease:
        """Return a slot when it is this run's turn; NotStartedError if it is refused or nobody answers."""
        if self._closed:
            raise NotStartedError(f"{_GONE}, so the script was not started")
        if (kept := self._reuse(tenant)) is not None:
            return kept
        loop = asyncio.get_running_loop()
        asked = self._asked[run] = _Asked(run, tenant, priority, loop.create_future())
        self._say(("submit", run, tenant, priority))
        try:
            return await asked.answer
        except asyncio.CancelledError:
            self._asked.pop(run, None)
            self._leases.pop(run, None)
            self._say(("withdraw", run))
            raise

    def release(self, lease: Lease, *, lost: bool = False) -> None:
        """Let a slot go after a run; `lost` says that its worker does not take runs any more."""
        if self._leases.pop(lease.slot, None) is None:
            return
        if lost:
            self._say(("lost", lease.slot, lease.worker))
            for other in [each for each in self._idle.values() if each.worker == lease.worker]:
                self._give_back(other.slot)
        elif lease.until > time.monotonic() and not self._asked:
            self._idle[lease.slot] = lease
        else:
            self._say(("release", lease.slot, lease.further), after=0.0 if self._asked else _TOGETHER)

    def _reuse(self, tenant: str) -> Lease | None:
        """Return a slot that was kept, the one that was used last: the others come to their end."""
        now = time.monotonic()
        for lease in reversed(self._idle.values()):
            if lease.tenant == tenant and lease.until > now:
                self._leases[lease.slot] = self._idle.pop(lease.slot)
                lease.further += 1
                return lease
        return None

    def _give_back(self, slot: str) -> None:
        """Give a slot back, if nothing runs in it."""
        if (lease := self._idle.pop(slot, None)) is not None:
            self._say(("release", slot, lease.further))

    async def give_back(self) -> None:
        """Give every slot back in which nothing runs, and return when the dispatcher knows."""
        for slot in list(self._idle):
            self._give_back(slot)
        self._send_soon()
        await asyncio.gather(*self._sending)

    async def close(self) -> None:
        """Say goodbye; nothing is said after that."""
        self._closed = True
        self._idle.clear()
        tasks = [*self._sending, *([self._listening] if self._listening else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._refuse_all(_GONE)
        if self._dispatcher is not None:
            self._dispatcher.leave.remote(self._client)

    # Sending: what is said while an answer is awaited goes out together

    def _say(self, message: Message, *, after: float = 0.0) -> None:
        if self._closed:
            return
        self._outbox.append(message)
        if after:
            asyncio.get_running_loop().call_later(after, self._send_soon)
        else:
            self._send_soon()
        if self._listening is None or self._listening.done():
            self._listening = asyncio.get_running_loop().create_task(self._listen())

    def _send_soon(self) -> None:
        self._sending = [task for task in self._sending if not task.done()]
        if self._outbox and not self._closed and len(self._sending) < _MOST_EXCHANGES:
            self._sending.append(asyncio.get_running_loop().create_task(self._send()))

    async def _send(self) -> None:
        while self._outbox:
            generation = self._generation
            try:
                dispatcher = await self._connected()
                messages, self._outbox = self._outbox, []
                self._take(await _answer(dispatcher.exchange.remote(self._client, messages)))
            except (TimeoutError, self._ray.exceptions.RayError, FleetError) as error:
                await self._start_over(generation, error)

    # Listening: as long as anything waits or runs

    async def _listen(self) -> None:
        idle_since = time.monotonic()
        while self._asked or self._leases or time.monotonic() - idle_since < _IDLE:
            if self._asked or self._leases:
                idle_since = time.monotonic()
            generation = self._generation
            try:
                dispatcher = await self._connected()
                self._take(await _answer(dispatcher.poll.remote(self._client)))
            except (TimeoutError, self._ray.exceptions.RayError, FleetError) as error:
                await self._start_over(generation, error)
        if self._dispatcher is not None:
            self._dispatcher.leave.remote(self._client)
            self._dispatcher = None

    async def _connected(self) -> Any:
        async with self._connecting:
            if self._dispatcher is None:
                async with asyncio.timeout(_PATIENCE):  # `wait_for` can lose that this task was cancelled
                    found = await in_daemon_thread(self._find)
                patience = _PATIENCE if self._was_connected else _FIRST_PATIENCE
                greeting = await _answer(found.greet.remote(self._client, PROTOCOL), patience)
                if greeting["protocol"] != PROTOCOL:
                    raise FleetError(f"The dispatcher speaks version {greeting['protocol']}, not {PROTOCOL}")
                self._dispatcher, self._was_connected = found, True
            return self._dispatcher

    def _take(self, events: list[Message]) -> None:
        self._failing_since = None
        for kind, run, *rest in events:
            if kind == "unknown":
                raise _ForgottenError("It has forgotten this program, which was silent for too long")
            if kind == "granted":
                self._take_slot(run, *rest)
            elif kind == "refused":
                asked = self._asked.pop(run, None)
                if asked is not None and not asked.answer.done():
                    asked.answer.set_exception(NotStartedError(rest[0]))
            elif kind == "wanted":
                if run in self._asked:
                    self._asked[run].called_back = True
                elif run in self._leases:
                    self._leases[run].until = 0.0
                else:
                    self._give_back(run)
            else:
                self._idle.pop(run, None)
                if run in self._leases and not self._leases[run].lost.done():
                    self._leases[run].lost.set_result(None)

    def _take_slot(self, run: str, worker: str, seconds: float) -> None:
        asked = self._asked.pop(run, None)
        if run in self._leases or run in self._idle:  # said twice, because it was asked for twice
            return
        if asked is None or asked.answer.done():
            self._say(("release", run, 0))
            return
        loop, seconds = asyncio.get_running_loop(), 0.0 if asked.called_back else seconds
        lease = Lease(run, asked.tenant, worker, loop.create_future(), time.monotonic() + seconds)
        self._leases[run] = lease
        asked.answer.set_result(lease)
        if seconds:
            loop.call_later(seconds, self._give_back, run)

    async def _start_over(self, generation: int, error: Exception) -> None:
        """After the dispatcher was lost: ask again for what waits (it never started), tell it what runs."""
        if generation != self._generation:
            return
        now = time.monotonic()
        if self._failing_since is None:
            self._failing_since = now
            forgot = isinstance(error, _ForgottenError)
            what = "has forgotten this program" if forgot else f"does not answer ({type(error).__name__})"
            logger.warning("The dispatcher %s; %d waiting runs are asked for again", what, len(self._asked))
        self._generation += 1
        self._dispatcher = None
        if now - self._failing_since > _GIVES_UP:
            self._refuse_all(f"No dispatcher of the fleet answers ({type(error).__name__})")
        for lease in self._leases.values():
            lease.until = 0.0
        ended = [message for message in self._outbox if message[0] not in ("adopt", "submit")]
        self._outbox = [
            *ended,
            *(("release", lease.slot, lease.further) for lease in self._idle.values()),
            *(("adopt", lease.slot, lease.tenant, lease.worker) for lease in self._leases.values()),
            *(("submit", asked.run, asked.tenant, asked.priority) for asked in self._asked.values()),
        ]
        self._idle.clear()
        await asyncio.sleep(_AGAIN)
        if self._outbox:
            self._send_soon()

    def _refuse_all(self, why: str) -> None:
        for asked in self._asked.values():
            if not asked.answer.done():
                asked.answer.set_exception(NotStartedError(f"{why}, so the script was not started"))
        self._asked.clear()


async def _answer(reference: Any, seconds: float | None = None) -> Any:
    """Return what a dispatcher says; TimeoutError when it is silent while this loop listens."""
    waiting = asyncio.ensure_future(ray_value(reference))
    try:
        for _ in range(_LOOKS):
            if waiting in (await asyncio.wait({waiting}, timeout=(seconds or _PATIENCE) / _LOOKS))[0]:
                return await waiting
        raise TimeoutError
    finally:
        waiting.cancel()
