"""Weighted fair queueing over tenants, bounded, with rates: which run starts next, and where."""

import heapq
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from skillkit.core.exceptions import SkillsUseError
from skillkit.fleet.policy import Policy, Share

_LEVELS = 64
"""Workers are told apart by how full they are, in so many steps."""
_MAX_TENANTS = 10_000
"""Above which those with nothing to do are forgotten."""


class QueueFullError(SkillsUseError):
    """A tenant has as many waiting runs as it may have."""


@dataclass(frozen=True, slots=True)
class Grant:
    """A run may start now, on this worker."""

    run: str
    worker: str


@dataclass(slots=True)
class _Waiting:
    run: str
    withdrawn: bool = False


@dataclass(slots=True)
class _Tenant:
    name: str
    share: Share
    virtual: float = 0.0
    """Its share of the past: who has the least is next."""
    queue: list[tuple[int, int, _Waiting]] = field(default_factory=list)
    waiting: int = 0
    running: int = 0
    started: int = 0
    refused: int = 0
    tokens: float = 0.0
    filled: float = 0.0
    listed: bool = False
    """Whether it stands among those that may be next."""


@dataclass(slots=True)
class _Worker:
    slots: int
    used: int = 0
    open: bool = True
    level: int | None = None


@dataclass(frozen=True, slots=True)
class _Running:
    tenant: str
    worker: str


class FairQueue:
    """Waiting runs, running runs and workers; every method says what time it is."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._tenants: dict[str, _Tenant] = {}
        self._waiting: dict[str, tuple[str, _Waiting]] = {}
        self._running: dict[str, _Running] = {}
        self._workers: dict[str, _Worker] = {}
        self._levels: list[OrderedDict[str, None]] = [OrderedDict() for _ in range(_LEVELS)]
        self._next: list[tuple[float, int, str]] = []
        self._paced: list[tuple[float, str]] = []
        self._virtual = 0.0
        self._count = 0

    # Workers

    def add_worker(self, worker: str, slots: int) -> None:
        """Add a worker, or change how many runs it takes at once."""
        known = self._workers.setdefault(worker, _Worker(slots))
        known.slots, known.open = slots, True
        known.used = sum(1 for run in self._running.values() if run.worker == worker)
        self._place(worker)

    def close_worker(self, worker: str) -> None:
        """Start nothing more on a worker; what runs there goes on."""
        if worker in self._workers:
            self._workers[worker].open = False
            self._place(worker)

    def remove_worker(self, worker: str) -> None:
        """Forget a worker; its runs keep counting until they are released."""
        if (known := self._workers.pop(worker, None)) is not None and known.level is not None:
            del self._levels[known.level][worker]

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
        entry = _Waiting(run)
        self._count += 1
        heapq.heappush(state.queue, (-priority, self._count, entry))
        self._waiting[run] = (tenant, entry)
        state.waiting += 1
        self._list(state)

    def adopt(self, run: str, tenant: str, worker: str, now: float) -> None:
        """Count a run that started before this queue was made."""
        if run not in self._running:
            self._running[run] = _Running(tenant, worker)
            self._tenant(tenant, now).running += 1
            if worker in self._workers:
                self._workers[worker].used += 1
                self._place(worker)

    def withdraw(self, run: str) -> None:
        """Forget a run that waits."""
        if (found := self._waiting.pop(run, None)) is not None:
            tenant, entry = found
            entry.withdrawn = True
            state = self._tenants[tenant]
            state.waiting -= 1
            if len(state.queue) > 2 * state.waiting + _LEVELS:
                state.queue = [item for item in state.queue if not item[2].withdrawn]
                heapq.heapify(state.queue)

    def waiting(self) -> list[str]:
        """Return every run that waits."""
        return list(self._waiting)

    def release(self, run: str) -> None:
        """Free the slot of a run that ended."""
        if (running := self._running.pop(run, None)) is None:
            return
        tenant = self._tenants[running.tenant]
        tenant.running -= 1
        self._list(tenant)
        if (worker := self._workers.get(running.worker)) is not None:
            worker.used -= 1
            self._place(running.worker)

    def grants(self, now: float) -> Iterator[Grant]:
        """Yield the runs that may start now, the fairest first, as long as there are slots."""
        while self._paced and self._paced[0][0] <= now:
            tenant = self._tenants[heapq.heappop(self._paced)[1]]
            tenant.listed = False
            self._list(tenant)
        while (worker := self._emptiest()) is not None and (next_one := self._fairest(now)) is not None:
            tenant = next_one
            entry = self._take(tenant)
            self._virtual = max(self._virtual, tenant.virtual)
            tenant.virtual += 1 / tenant.share.weight
            tenant.running += 1
            tenant.started += 1
            tenant.tokens -= 1
            self._list(tenant)
            self._running[entry.run] = _Running(tenant.name, worker)
            self._workers[worker].used += 1
            self._place(worker)
            yield Grant(entry.run, worker)

    def wakes_at(self) -> float | None:
        """Return when a tenant that is held back by its rate may go on, None if there is none."""
        return self._paced[0][0] if self._paced else None

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
            self._list(tenant)

    # Inside

    def _tenant(self, name: str, now: float) -> _Tenant:
        if (known := self._tenants.get(name)) is None:
            if len(self._tenants) >= _MAX_TENANTS:
                self._forget_idle()
            share = self.policy.share(name)
            known = self._tenants[name] = _Tenant(name, share, tokens=share.burst, filled=now)
        return known

    def _forget_idle(self) -> None:
        for name, tenant in list(self._tenants.items()):
            if not (tenant.waiting or tenant.running or tenant.listed):
                del self._tenants[name]

    def _list(self, tenant: _Tenant) -> None:
        """Put a tenant among those that may be next; one that was idle gains nothing by it."""
        if tenant.listed or not tenant.waiting:
            return
        if tenant.share.running is not None and tenant.running >= tenant.share.running:
            return
        tenant.listed = True
        tenant.virtual = max(tenant.virtual, self._virtual)
        self._count += 1
        heapq.heappush(self._next, (tenant.virtual, self._count, tenant.name))

    def _fairest(self, now: float) -> _Tenant | None:
        while self._next:
            tenant = self._tenants[heapq.heappop(self._next)[2]]
            tenant.listed = False
            at_most = tenant.share.running
            if not tenant.waiting or (at_most is not None and tenant.running >= at_most):
                continue
            if (ready := _ready_at(tenant, now)) <= now:
                return tenant
            tenant.listed = True
            heapq.heappush(self._paced, (ready, tenant.name))
        return None

    def _take(self, tenant: _Tenant) -> _Waiting:
        while (entry := heapq.heappop(tenant.queue)[2]).withdrawn:
            pass
        tenant.waiting -= 1
        del self._waiting[entry.run]
        return entry

    def _place(self, name: str) -> None:
        worker = self._workers[name]
        if worker.level is not None:
            del self._levels[worker.level][name]
            worker.level = None
        if worker.open and worker.used < worker.slots:
            worker.level = worker.used * _LEVELS // worker.slots
            self._levels[worker.level][name] = None

    def _emptiest(self) -> str | None:
        return next((next(iter(level)) for level in self._levels if level), None)


def _ready_at(tenant: _Tenant, now: float) -> float:
    """When the tenant's rate lets its next run start."""
    share = tenant.share
    if share.rate is None:
        return now
    tenant.tokens = min(share.burst, tenant.tokens + (now - tenant.filled) * share.rate)
    tenant.filled = now
    return now if tenant.tokens > 1 - 1e-9 else now + (1 - tenant.tokens) / share.rate
