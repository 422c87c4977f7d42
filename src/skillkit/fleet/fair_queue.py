"""Weighted fair queueing over tenants, with limits and rates: selects the next run and its worker."""

from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from skillkit.core.exceptions import SkillsUseError
from skillkit.fleet.policy import Policy, Share


class QueueFullError(SkillsUseError, code="queue-full"):
    """A tenant has reached its limit of waiting runs."""


class _Waiting(NamedTuple):
    priority: int
    avoid: Set[str]


class Grant(NamedTuple):
    """Permission for a run to start now, on this worker."""

    run: str
    worker: str


@dataclass(slots=True)
class _Tenant:
    share: Share
    virtual: float = 0.0
    """Virtual time: the tenant with the lowest is next."""
    queue: dict[str, _Waiting] = field(default_factory=dict)
    """Waiting runs, in order of submission."""
    running: int = 0
    started: int = 0
    refused: int = 0
    tokens: float = 0.0
    filled: float = 0.0

    def ready_at(self, now: float) -> float:
        """Return the time at which the rate limit permits the next run."""
        if self.share.rate is None:
            return now
        self.tokens = min(self.share.burst, self.tokens + (now - self.filled) * self.share.rate)
        self.filled = now
        return now if self.tokens > 1 - 1e-9 else now + (1 - self.tokens) / self.share.rate

    @property
    def wants_slot(self) -> bool:
        return bool(self.queue) and (self.share.running is None or self.running < self.share.running)


@dataclass(slots=True)
class _Worker:
    slots: int
    used: int = 0
    open: bool = True


class FairQueue:
    """Waiting runs, running runs and workers; every method takes the current time."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._tenants: dict[str, _Tenant] = {}
        self._running: dict[str, tuple[str, str]] = {}
        self._workers: dict[str, _Worker] = {}
        self._virtual = 0.0
        self.wakes_at: float | None = None
        """When the next tenant over its rate limit may continue; None if there is none."""

    # Workers

    def add_worker(self, worker: str, slots: int) -> None:
        """Add a worker, or change its number of slots."""
        self._workers[worker] = _Worker(slots, sum(place == worker for _, place in self._running.values()))

    def close_worker(self, worker: str) -> None:
        """Start no more runs on a worker; its current runs continue."""
        if worker in self._workers:
            self._workers[worker].open = False

    def remove_worker(self, worker: str) -> None:
        """Remove a worker; its runs keep counting until they are released."""
        self._workers.pop(worker, None)

    def has_open_worker(self) -> bool:
        return any(worker.open for worker in self._workers.values())

    def used(self, worker: str) -> int:
        """Return the number of runs on a worker."""
        return self._workers[worker].used if worker in self._workers else 0

    # Runs

    def submit(
        self, run: str, tenant: str, now: float, priority: int = 0, avoid: Set[str] = frozenset()
    ) -> None:
        """Enqueue a run; QueueFullError if its tenant has too many waiting.

        Higher priorities go first; a run never starts on the workers that it avoids.
        """
        state = self._tenant(tenant, now)
        if run in state.queue or run in self._running:
            return
        if (waiting := len(state.queue)) >= state.share.waiting:
            state.refused += 1
            raise QueueFullError(
                f"queue full: {waiting} runs of tenant '{tenant}' are waiting; try again later"
            )
        if not state.queue:  # an idle tenant accumulates no credit
            state.virtual = max(state.virtual, self._virtual)
        state.queue[run] = _Waiting(priority, avoid)

    def adopt(self, run: str, tenant: str, worker: str, now: float) -> None:
        """Add a run that started before this queue was created."""
        self._start(run, tenant, self._tenant(tenant, now), worker)

    def withdraw(self, run: str) -> None:
        """Remove a waiting run."""
        for tenant in self._tenants.values():
            tenant.queue.pop(run, None)

    def waiting(self) -> list[str]:
        """Return all waiting runs."""
        return [run for tenant in self._tenants.values() for run in tenant.queue]

    def release(self, run: str) -> None:
        """Free the slot of a finished run."""
        if (found := self._running.pop(run, None)) is not None:
            self._tenants[found[0]].running -= 1
            if (worker := self._workers.get(found[1])) is not None:
                worker.used -= 1

    def grants(self, now: float) -> Iterator[Grant]:
        """Yield the runs that may start now, in fair order, while there are slots."""
        while (free := self._free()) and (found := self._fairest(now, set(free))) is not None:
            name, run = found
            tenant = self._tenants[name]
            avoid = tenant.queue.pop(run).avoid
            worker = next(each for each in free if each not in avoid)
            self._virtual = max(self._virtual, tenant.virtual)
            tenant.virtual += 1 / tenant.share.weight
            tenant.started += 1
            tenant.tokens -= 1
            self._start(run, name, tenant, worker)
            yield Grant(run, worker)

    def tenants(self) -> dict[str, dict[str, float]]:
        """Return the counts of waiting, running, started and refused runs by tenant."""
        return {
            name: {
                "waiting": len(tenant.queue),
                "running": tenant.running,
                "started": tenant.started,
                "refused": tenant.refused,
                "weight": tenant.share.weight,
            }
            for name, tenant in sorted(self._tenants.items())
        }

    def change_policy(self, policy: Policy) -> None:
        """Apply another policy from now on."""
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

    def _fairest(self, now: float, free: Set[str]) -> tuple[str, str] | None:
        """Return the tenant and run that is next; record when the first rate-limited tenant may continue."""
        ready = {name: each.ready_at(now) for name, each in self._tenants.items() if each.wants_slot}
        self.wakes_at = min((at for at in ready.values() if at > now), default=None)
        able = [name for name, at in ready.items() if at <= now]
        for name in sorted(able, key=lambda name: self._tenants[name].virtual):
            queue = self._tenants[name].queue
            placeable = (run for run, each in queue.items() if not free <= each.avoid)
            run = max(placeable, key=lambda run: queue[run].priority, default=None)
            if run is not None:
                return name, run
        return None

    def _free(self) -> list[str]:
        """Return the workers with free slots, the emptiest first."""
        able = [name for name, each in self._workers.items() if each.open and each.used < each.slots]
        return sorted(able, key=lambda name: self._workers[name].used / self._workers[name].slots)
