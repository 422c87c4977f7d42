"""Weighted fair queueing over tenants, bounded, with rates: which run starts next, and where."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from skillkit.core.exceptions import SkillsUseError
from skillkit.fleet.policy import Policy, Share

_WITHDRAWN = 64
"""Withdrawn runs that stay in a tenant's queue until it is made anew."""


class QueueFullError(SkillsUseError):
    """A tenant has as many waiting runs as it may have."""


class Grant(NamedTuple):
    """A run may start now, on this worker."""

    run: str
    worker: str


@dataclass(slots=True)
class _Tenant:
    share: Share
    virtual: float = 0.0
    """Its share of the past: who has the least is next."""
    queue: list[tuple[int, int, str]] = field(default_factory=list)
    """Priority, number and run; what was withdrawn is skipped when it is its turn."""
    waiting: int = 0
    running: int = 0
    started: int = 0
    refused: int = 0
    tokens: float = 0.0
    filled: float = 0.0

    def ready_at(self, now: float) -> float:
        """Return when the rate lets the next run start."""
        if self.share.rate is None:
            return now
        self.tokens = min(self.share.burst, self.tokens + (now - self.filled) * self.share.rate)
        self.filled = now
        return now if self.tokens > 1 - 1e-9 else now + (1 - self.tokens) / self.share.rate

    @property
    def wants_slot(self) -> bool:
        return self.waiting > 0 and (self.share.running is None or self.running < self.share.running)


@dataclass(slots=True)
class _Worker:
    slots: int
    used: int = 0
    open: bool = True


class FairQueue:
    """Waiting runs, running runs and workers; every method says what time it is."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._tenants: dict[str, _Tenant] = {}
        self._waiting: dict[str, tuple[str, int]] = {}
        self._running: dict[str, tuple[str, str]] = {}
        self._workers: dict[str, _Worker] = {}
        self._virtual = 0.0
        self._count = 0
        self._wakes_at: float | None = None

    # Workers

    def add_worker(self, worker: str, slots: int) -> None:
        """Add a worker, or change how many runs it takes at once."""
        self._workers[worker] = _Worker(slots, sum(place == worker for _, place in self._running.values()))

    def close_worker(self, worker: str) -> None:
        """Start nothing more on a worker; what runs there goes on."""
        if worker in self._workers:
            self._workers[worker].open = False

    def remove_worker(self, worker: str) -> None:
        """Forget a worker; its runs keep counting until they are released."""
        self._workers.pop(worker, None)

    def has_open_worker(self) -> bool:
        return any(worker.open for worker in self._workers.values())

    def used(self, worker: str) -> int:
        """Return how many runs a worker has."""
        return self._workers[worker].used if worker in self._workers else 0

    # Runs

    def submit(self, run: str, tenant: str, now: float, priority: int = 0) -> None:
        """Let a run wait; QueueFullError if its tenant has too many waiting. Higher priorities go first."""
        if run in self._waiting or run in self._running:
            return
        state = self._tenant(tenant, now)
        if state.waiting >= state.share.waiting:
            state.refused += 1
            raise QueueFullError(
                f"queue full: {state.waiting} runs of tenant '{tenant}' are waiting; try again later"
            )
        if not state.waiting:  # one that was idle gains nothing by it
            state.virtual = max(state.virtual, self._virtual)
        self._count += 1
        heapq.heappush(state.queue, (-priority, self._count, run))
        self._waiting[run] = (tenant, self._count)
        state.waiting += 1

    def adopt(self, run: str, tenant: str, worker: str, now: float) -> None:
        """Count a run that started before this queue was made."""
        self._start(run, tenant, self._tenant(tenant, now), worker)

    def withdraw(self, run: str) -> None:
        """Forget a run that waits."""
        if (found := self._waiting.pop(run, None)) is None:
            return
        tenant = self._tenants[found[0]]
        tenant.waiting -= 1
        if len(tenant.queue) > 2 * tenant.waiting + _WITHDRAWN:
            tenant.queue = [item for item in tenant.queue if self._waiting.get(item[2], (0, 0))[1] == item[1]]
            heapq.heapify(tenant.queue)

    def waiting(self) -> list[str]:
        """Return every run that waits."""
        return list(self._waiting)

    def release(self, run: str) -> None:
        """Free the slot of a run that ended."""
        if (found := self._running.pop(run, None)) is not None:
            self._tenants[found[0]].running -= 1
            if (worker := self._workers.get(found[1])) is not None:
                worker.used -= 1

    def grants(self, now: float) -> Iterator[Grant]:
        """Yield the runs that may start now, the fairest first, as long as there are slots."""
        while (worker := self._emptiest()) is not None and (name := self._fairest(now)) is not None:
            tenant = self._tenants[name]
            run = self._take(name, tenant)
            self._virtual = max(self._virtual, tenant.virtual)
            tenant.virtual += 1 / tenant.share.weight
            tenant.started += 1
            tenant.tokens -= 1
            self._start(run, name, tenant, worker)
            yield Grant(run, worker)

    def wakes_at(self) -> float | None:
        """Return when a tenant that is held back by its rate may go on, None if there is none."""
        return self._wakes_at

    def tenants(self) -> dict[str, dict[str, float]]:
        """Return what each tenant has waiting and running, and had started and refused."""
        return {
            name: {
                "waiting": tenant.waiting,
                "running": tenant.running,
                "started": tenant.started,
                "refused": tenant.refused,
                "weight": tenant.share.weight,
            }
            for name, tenant in sorted(self._tenants.items())
        }

    def change_policy(self, policy: Policy) -> None:
        """Share by another policy from now on."""
        self.policy = policy
        for name, tenant in self._tenants.items():
            tenant.share = policy.share(name)

    # Inside

    def _tenant(self, name: str, now: float) -> _Tenant:
        if name not in self._tenants:
            share = self.policy.share(name)
            self._tenants[name] = _Tenant(share, tokens=share.burst, filled=now)
        return self._tenants[name]

    def _start(self, run: str, name: str, tenant: _Tenant, worker: str) -> None:
        self._running[run] = (name, worker)
        tenant.running += 1
        if worker in self._workers:
            self._workers[worker].used += 1

    def _fairest(self, now: float) -> str | None:
        """Return the tenant whose run is next; note when the first of those held back may go on."""
        ready = {name: each.ready_at(now) for name, each in self._tenants.items() if each.wants_slot}
        self._wakes_at = min((at for at in ready.values() if at > now), default=None)
        able = [name for name, at in ready.items() if at <= now]
        return min(able, key=lambda name: self._tenants[name].virtual, default=None)

    def _take(self, name: str, tenant: _Tenant) -> str:
        while True:
            _, number, run = heapq.heappop(tenant.queue)
            if self._waiting.get(run) == (name, number):
                del self._waiting[run]
                tenant.waiting -= 1
                return run

    def _emptiest(self) -> str | None:
        able = [name for name, each in self._workers.items() if each.open and each.used < each.slots]
        return min(able, key=lambda name: self._workers[name].used / self._workers[name].slots, default=None)
