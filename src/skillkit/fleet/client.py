"""What a program does to have a run executed on a fleet; lives on the event loop of a thread of its own."""

import asyncio
import contextlib
import uuid
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from skillkit.core.digest_memo import DigestMemo
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.foreign_json import parse_json
from skillkit.core.pinned_trees import ChangedTreeError
from skillkit.core.threads import in_daemon_thread
from skillkit.fleet.cluster import NAMESPACE, FleetError, get_dispatcher, number_of, ray_value
from skillkit.fleet.envelopes import pack_request
from skillkit.fleet.link import DispatcherLink, NotStartedError
from skillkit.fleet.packing import pack_tree
from skillkit.fleet.protocol import HEARTBEAT, PROTOCOL, SILENCE
from skillkit.fleet.sealing import FleetKeys, Label, SealError
from skillkit.fleet.tree_stores import TreeSource
from skillkit.scripts.documents import DocumentError, result_from_json
from skillkit.scripts.models import Outcome, ScriptRequest, ScriptResult
from skillkit.scripts.pinned_run import LinkedPathError

BACKEND = "ray"
"""What a result names as its sandbox when no machine's sandbox was reached."""
_KEPT_TREES = 32
_RETRIES = 3
"""How often a script that is safe to retry is started again after its machine was lost."""
_TREE_PATIENCE = 120.0
_SOON = 0.02
_FIRST_PATIENCE = 30.0
"""Seconds for a dispatcher that has to be started first."""


class WorkerLostError(FleetError):
    """The worker went away with a run; its script may have run."""


class _ElsewhereError(FleetError):
    """The worker takes no runs any more; the script was not started."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What is asked of the fleet for one run, beside the request itself."""

    tenant: str
    priority: int = 0
    keep: float = 0.0
    on_start: Callable[[str], None] | None = None
    follow: Callable[[str], None] | None = None
    """Is told each line that the script prints, while it runs."""


class FleetClient:
    """Links to dispatchers, handles of workers, and trees on their way."""

    def __init__(self, ray: Any, keys: FleetKeys, store: TreeSource | None) -> None:
        self._ray = ray
        self._keys = keys
        self._store = store
        self._name = f"client-{uuid.uuid4().hex}"
        self._links: dict[int, DispatcherLink] = {}
        self._dispatchers: int | None = None
        self._counting = asyncio.Lock()
        self._workers: OrderedDict[str, Any] = OrderedDict()
        self._packed: OrderedDict[str, Any] = OrderedDict()
        self._stored: set[str] = set()

    async def execute(self, request: ScriptRequest, options: RunOptions) -> ScriptResult:
        """Return what came of a request, whatever happens to the machines; cancelling it kills the script."""
        retries = _RETRIES if request.retry_safe else 0
        try:
            while True:
                try:
                    return await self._execute_once(uuid.uuid4().hex, request, options)
                except _ElsewhereError:
                    continue
                except WorkerLostError:
                    if not retries:
                        raise
                    retries -= 1
        except WorkerLostError as error:
            return ScriptResult(Outcome.LOST, BACKEND, message=str(error))
        except (ChangedTreeError, LinkedPathError) as error:
            return ScriptResult(Outcome.REFUSED, BACKEND, message=str(error))
        except asyncio.CancelledError:
            return ScriptResult(Outcome.CANCELLED, BACKEND, message="Script was cancelled")
        except (SkillsUseError, OSError, TimeoutError, self._ray.exceptions.RayError) as error:
            return ScriptResult(Outcome.BROKEN, BACKEND, message=f"The script was not started: {error}")

    async def prepare(self, request: ScriptRequest) -> dict[str, str]:
        """Bring a tree and what its script needs to every worker; return why not, "" where it is there."""
        count = await self._count_dispatchers()
        found = [await get_dispatcher(self._ray, number).status.remote() for number in range(count)]
        names = [name for one in found for name, facts in one["workers"].items() if facts["state"] == "ready"]
        answers = await asyncio.gather(*(self._prepare_on(name, request) for name in names))
        return dict(zip(names, answers, strict=True))

    async def _prepare_on(self, name: str, request: ScriptRequest) -> str:
        label = Label(uuid.uuid4().hex, "prepare", request.digest, name)
        content = pack_request(request)
        try:
            worker = await self._worker(name)
            kind, value = await worker.prepare.remote(self._keys.seal(label, content))
            if kind == "tree":
                await self._give_tree(worker, request)
                kind, value = await worker.prepare.remote(self._keys.seal(label, content))
        except (FleetError, self._ray.exceptions.RayError) as error:
            return str(error) or type(error).__name__
        return "" if kind == "ready" else str(value)

    async def collect(self, worker: str, run: str) -> ScriptResult:
        """Return the result of a run that outlived its client; FleetError when there is none."""
        try:
            sealed = await (await self._worker(worker)).collect.remote(run)
        except self._ray.exceptions.RayError as error:
            raise FleetError(f"The machine that ran {run} is gone: the script may have run") from error
        if sealed is None:
            raise FleetError(f"There is no result of {run}, or not any more")
        return self._open(sealed, run)

    async def give_back(self) -> None:
        """Keep no slot in which nothing runs."""
        for link in self._links.values():
            await link.give_back()

    async def close(self) -> None:
        """Say goodbye to the dispatchers."""
        for link in self._links.values():
            await link.close()

    # One try

    async def _execute_once(self, run: str, request: ScriptRequest, options: RunOptions) -> ScriptResult:
        link = await self._link(options.tenant)
        await self._publish(request)
        lease = await link.lease(run, options.tenant, options.priority)
        try:
            worker = await self._worker(lease.worker)
            if options.on_start is not None:
                options.on_start(f"{lease.worker}/{run}")
            content = pack_request(request)
            label = Label(
                run,
                lease.tenant,
                request.digest,
                lease.worker,
                lease.slot,
                keep=options.keep,
                follow=options.follow is not None,
            )
            kind, value = await self._send(worker, label, content, lease.lost, options.follow)
            if kind == "tree":
                await self._give_tree(worker, request)
                kind, value = await self._send(worker, label, content, lease.lost, options.follow)
            if kind == "finishing":
                raise _ElsewhereError
        except (WorkerLostError, _ElsewhereError):
            link.release(lease, lost=True)
            raise
        finally:
            link.release(lease)
        if kind == "result":
            return self._open(value, run)
        reason = "the machine cannot keep its tree" if kind == "tree" else value
        raise NotStartedError(str(reason))

    async def _send(
        self,
        worker: Any,
        label: Label,
        content: bytes,
        lost: "asyncio.Future[None]",
        follow: Callable[[str], None] | None,
    ) -> tuple[str, Any]:
        running = asyncio.ensure_future(ray_value(worker.run.remote(self._keys.seal(label, content))))
        if follow is not None:
            following = asyncio.ensure_future(self._follow(worker, label.run, running, follow))
        try:
            await asyncio.wait({running, lost}, return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                raise WorkerLostError(
                    f"The machine that the script was sent to has been silent for {SILENCE:g} s; "
                    "the script may have run"
                )
            reply: tuple[str, Any] = await running
            return reply
        except asyncio.CancelledError:
            worker.cancel.remote(label.run)
            await asyncio.wait({running, lost}, return_when=asyncio.FIRST_COMPLETED)
            raise
        except self._ray.exceptions.RayError as error:
            self._workers.pop(label.worker, None)
            raise WorkerLostError(
                f"The worker that the script was sent to is gone ({type(error).__name__}); "
                "the script may have run"
            ) from error
        finally:
            if follow is not None:
                await asyncio.wait([following], timeout=HEARTBEAT)
                following.cancel()
            if not running.done():
                running.cancel()
            elif not running.cancelled():
                running.exception()

    async def _follow(
        self, worker: Any, run: str, running: "asyncio.Future[Any]", tell: Callable[[str], None]
    ) -> None:
        """Tell each line as it comes, and the rest when the run has ended."""
        position, started = 0, False
        with contextlib.suppress(self._ray.exceptions.RayError, SealError):
            while True:
                ended = running.done()
                found, sealed = await worker.output.remote(run, position)
                started = started or found >= 0
                lines = parse_json(self._unseal(sealed, run, "output")) if found >= 0 else []
                for line in lines:
                    tell(line)
                position = max(found, 0) if found >= 0 else position
                if (ended and not lines) or (started and found < 0):
                    return
                if not started:
                    await asyncio.sleep(_SOON)

    def _open(self, sealed: bytes, run: str) -> ScriptResult:
        """Return the result in a document of ours about this run."""
        try:
            return result_from_json(self._unseal(sealed, run, "result"))
        except (SealError, DocumentError) as error:
            raise WorkerLostError(
                f"The worker sent back something else ({error}); the script may have run"
            ) from error

    def _unseal(self, sealed: bytes, run: str, kind: str) -> bytes:
        label, content = self._keys.open(sealed)
        if label.kind != kind or label.run != run:
            raise SealError(f"A document that is no {kind} of this run")
        return content

    # Where things are

    async def _link(self, tenant: str) -> DispatcherLink:
        async with self._counting:  # thousands that begin together ask once
            if self._dispatchers is None:
                self._dispatchers = await self._count_dispatchers()
        number = number_of(tenant, self._dispatchers)
        if number not in self._links:
            self._links[number] = DispatcherLink(
                self._ray, lambda: get_dispatcher(self._ray, number), f"{self._name}-{number}"
            )
        return self._links[number]

    async def _count_dispatchers(self) -> int:
        first = await in_daemon_thread(get_dispatcher, self._ray)
        try:
            async with asyncio.timeout(_FIRST_PATIENCE):
                greeting = await first.greet.remote(self._name, PROTOCOL)
        except TimeoutError as error:
            raise NotStartedError("The fleet's dispatcher does not start on the head's machine") from error
        return int(greeting["dispatchers"])

    async def _worker(self, name: str) -> Any:
        if name not in self._workers:
            try:
                found = await in_daemon_thread(self._ray.get_actor, name, NAMESPACE)
            except ValueError as error:
                raise NotStartedError("The worker that was to run the script is gone") from error
            self._workers[name] = found
            while len(self._workers) > 10_000:
                self._workers.popitem(last=False)
        return self._workers[name]

    # Trees

    async def _publish(self, request: ScriptRequest) -> None:
        """Put the tree where machines look for it, once."""
        if self._store is None or request.digest in self._stored:
            return
        packed = await asyncio.to_thread(_pack_approved, request)
        await asyncio.to_thread(self._store.put, request.digest, packed)
        self._stored.add(request.digest)

    async def _give_tree(self, worker: Any, request: ScriptRequest) -> None:
        """Send the tree through Ray's object store: each machine gets it once, whoever asks."""
        reference = self._packed.get(request.digest)
        if reference is None:
            packed = await asyncio.to_thread(_pack_approved, request)
            reference = await in_daemon_thread(self._ray.put, packed)
            self._packed[request.digest] = reference
            while len(self._packed) > _KEPT_TREES:
                self._packed.popitem(last=False)
        try:
            async with asyncio.timeout(_TREE_PATIENCE):
                why = await worker.add_tree.remote(request.digest, reference)
        except self._ray.exceptions.RayError as error:
            self._packed.pop(request.digest, None)
            raise NotStartedError(
                f"The worker went away while it was given the tree ({type(error).__name__})"
            ) from error
        if why is not None:
            self._packed.pop(request.digest, None)
            raise NotStartedError(str(why))


def _pack_approved(request: ScriptRequest) -> bytes:
    """Return the tree as it travels; ChangedTreeError if it is not the approved one any more.

    Machines compare the digest of what arrives: this is for a reason that names the user's folder.
    """
    packed = pack_tree(request.base_dir)
    if DigestMemo().with_links(request.base_dir).digest != request.digest:
        raise ChangedTreeError.of(request.base_dir)
    return packed
