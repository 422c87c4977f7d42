"""A client's line to a dispatcher: asks for slots in batches, and starts over when the dispatcher does."""

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


class NotStartedError(FleetError):
    """A run that got no slot; its script was not started."""


class _ForgottenError(FleetError):
    """The dispatcher heard nothing of this client for so long that it counted it as ended."""


@dataclass(slots=True)
class Lease:
    """A slot of a worker for one run."""

    run: str
    tenant: str
    worker: str
    lost: "asyncio.Future[None]"
    """Done when the dispatcher says that the worker is lost."""


@dataclass(slots=True)
class _Asked:
    run: str
    tenant: str
    priority: int
    answer: "asyncio.Future[str]" = field(repr=False)


class DispatcherLink:
    """Everything one client says to one dispatcher; lives on one event loop."""

    def __init__(self, ray: Any, find: Callable[[], Any], client: str) -> None:
        self._ray = ray
        self._find = find
        self._client = client
        self._dispatcher: Any = None
        self._asked: dict[str, _Asked] = {}
        self._leases: dict[str, Lease] = {}
        self._outbox: list[Message] = []
        self._sending: list[asyncio.Task[None]] = []
        self._listening: asyncio.Task[None] | None = None
        self._connecting = asyncio.Lock()
        self._was_connected = False
        self._generation = 0
        self._failing_since: float | None = None

    async def lease(self, run: str, tenant: str, priority: int = 0) -> Lease:
        """Return a slot when it is this run's turn; NotStartedError if it is refused or nobody answers."""
        loop = asyncio.get_running_loop()
        asked = self._asked[run] = _Asked(run, tenant, priority, loop.create_future())
        self._say(("submit", run, tenant, priority))
        try:
            worker = await asked.answer
        except asyncio.CancelledError:
            self._asked.pop(run, None)
            self._leases.pop(run, None)
            self._say(("withdraw", run))
            raise
        return self._leases.setdefault(run, Lease(run, tenant, worker, loop.create_future()))

    def release(self, lease: Lease, *, lost: bool = False) -> None:
        """Give a slot back; `lost` says that its worker does not answer any more."""
        if self._leases.pop(lease.run, None) is None:
            return
        if lost:
            self._say(("lost", lease.run, lease.worker))
        else:
            self._say(("release", lease.run), after=0.0 if self._asked else _TOGETHER)

    async def close(self) -> None:
        """Say goodbye."""
        for task in (*self._sending, *([self._listening] if self._listening else [])):
            task.cancel()
        if self._dispatcher is not None:
            self._dispatcher.leave.remote(self._client)

    # Sending: what is said while an answer is awaited goes out together

    def _say(self, message: Message, *, after: float = 0.0) -> None:
        self._outbox.append(message)
        if after:
            asyncio.get_running_loop().call_later(after, self._send_soon)
        else:
            self._send_soon()
        if self._listening is None or self._listening.done():
            self._listening = asyncio.get_running_loop().create_task(self._listen())

    def _send_soon(self) -> None:
        self._sending = [task for task in self._sending if not task.done()]
        if self._outbox and len(self._sending) < _MOST_EXCHANGES:
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
                found = await asyncio.wait_for(in_daemon_thread(self._find), _PATIENCE)
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
            asked = self._asked.pop(run, None) if kind != "lost" else None
            if kind == "granted":
                if run in self._leases:  # said twice, because it was asked for twice
                    continue
                if asked is None or asked.answer.done():
                    self._say(("release", run))
                    continue
                lost = asyncio.get_running_loop().create_future()
                self._leases[run] = Lease(run, asked.tenant, rest[0], lost)
                asked.answer.set_result(rest[0])
            elif kind == "refused":
                if asked is not None and not asked.answer.done():
                    asked.answer.set_exception(NotStartedError(rest[0]))
            elif run in self._leases and not self._leases[run].lost.done():
                self._leases[run].lost.set_result(None)

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
        self._outbox = [
            *(("adopt", lease.run, lease.tenant, lease.worker) for lease in self._leases.values()),
            *(("submit", asked.run, asked.tenant, asked.priority) for asked in self._asked.values()),
        ]
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
