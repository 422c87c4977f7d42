"""A ScriptRunner whose scripts run on the machines of a Ray cluster."""

import asyncio
import atexit
import os
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Generic, TypeVar

from skillkit.core.authority import current_requester
from skillkit.core.exceptions import SkillsUseError
from skillkit.fleet.client import BACKEND, FleetClient, RunOptions
from skillkit.fleet.cluster import connect, parse_address
from skillkit.fleet.sealing import FleetKeys
from skillkit.fleet.tree_stores import open_tree_store
from skillkit.scripts.inputs import InputsError, check_project
from skillkit.scripts.models import Outcome, ScriptRequest, ScriptResult
from skillkit.scripts.pinned_run import LOCALE

T = TypeVar("T")
TREES = "SKILLKIT_FLEET_TREES"
_GOODBYE = 0.5
"""Seconds that the end of a program may take for its slots."""


class RayRunner:
    """Runs requests on a fleet: the same results, codes, limits and grants as on this machine.

    `address` is `ray://HOST:PORT` of the head; nothing is started and nobody is asked before the
    first run. A script is started at most once; one whose machine was lost ends as `lost`, unless
    its skill declares it safe to retry.
    """

    def __init__(
        self,
        address: str = "",
        *,
        tenant: str | None = None,
        priority: int = 0,
        keys: Path | None = None,
        trees: str | None = None,
        shared_paths: Iterable[Path] = (),
        keep_results: float = 0.0,
        on_start: Callable[[str], None] | None = None,
        follow: Callable[[ScriptRequest, str], None] | None = None,
    ) -> None:
        """`tenant` is whose share is used (unless given, the requester's); a higher `priority` goes first.

        `trees` is a store that the machines can read, a folder or `s3://…`. Granted paths are
        refused, except beneath `shared_paths`, which are the same files on every machine. With
        `keep_results` a run outlives this program, and `collect` gets its result for so many
        seconds; `on_start` is told the name by which.
        """
        parse_address(address)
        self.address = address
        self._tenant = tenant
        self._priority = priority
        self._keys_path = keys
        self._trees = trees or os.environ.get(TREES)
        self._shared = tuple(path.absolute() for path in shared_paths)
        self._keep = keep_results
        self._on_start = on_start
        self.follow = follow
        """Is told each line that a script prints, on either stream, while it runs."""
        self._lock = Lock()
        self._connection: _Connection | None = None

    def run(self, request: ScriptRequest) -> ScriptResult:
        """Run one request to its end. Interrupting the caller kills the script."""
        running = self._start(request)
        if isinstance(running, ScriptResult):
            return running
        try:
            return running.outcome.result()
        except BaseException:
            running.cancel()
            raise

    async def arun(self, request: ScriptRequest) -> ScriptResult:
        """`run` without blocking; cancelling the awaiting task kills the script before it returns."""
        if self._connection is None:
            running = await asyncio.to_thread(self._start, request)
        else:
            running = self._start(request)
        if isinstance(running, ScriptResult):
            return running
        waiting = asyncio.wrap_future(running.outcome)
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            running.cancel()
            await asyncio.wait([waiting])
            raise

    def prepare(self, request: ScriptRequest) -> dict[str, str]:
        """Bring what a request needs to every worker; return why that cannot be, "" where it is there."""
        connection = self._connected()
        return _Running(connection.loop, connection.client.prepare(request)).outcome.result()

    def collect(self, name: str) -> ScriptResult:
        """Return the result of a run that was kept, by the name that `on_start` was told."""
        worker, _, run = name.partition("/")
        connection = self._connected()
        running = _Running(connection.loop, connection.client.collect(worker, run))
        return running.outcome.result()

    def close(self) -> None:
        """End what is running and leave the fleet."""
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    # From a request of this machine to one for any machine

    def _start(self, request: ScriptRequest) -> "_Running[ScriptResult] | ScriptResult":
        if (refused := self._refusal(request)) is not None:
            return ScriptResult(Outcome.REFUSED, BACKEND, message=refused)
        tenant = self._tenant if self._tenant is not None else current_requester().tenant
        options = RunOptions(
            tenant or "default",
            self._priority,
            self._keep,
            self._on_start,
            None if self.follow is None else partial(self.follow, request),
        )
        try:
            connection = self._connected()
        except (SkillsUseError, OSError) as error:
            return ScriptResult(Outcome.BROKEN, BACKEND, message=str(error))
        locale = {name: os.environ[name] for name in LOCALE if name in os.environ}
        request = replace(request, environment={**locale, **request.environment})
        return _Running(connection.loop, connection.client.execute(request, options))

    def _refusal(self, request: ScriptRequest) -> str | None:
        """Why a request cannot leave this machine."""
        project: tuple[Path, ...] = ()
        if request.project is not None:
            try:
                project = (check_project(request.project),)
            except InputsError as error:
                return str(error)
        for path in (*request.read_paths, *request.write_paths, *project):
            if not any(path.is_relative_to(shared) for shared in self._shared):
                return (
                    f"The granted path {path} is on this machine, and the script runs on another one; "
                    "grant a path that all machines share, or run it here"
                )
        return None

    def _connected(self) -> "_Connection":
        with self._lock:
            if self._connection is None:
                keys = FleetKeys.read(self._keys_path)
                store = open_tree_store(self._trees) if self._trees else None
                self._connection = _Connection(connect(self.address), keys, store)
            return self._connection


class _Connection:
    """A client of the fleet and the thread that its event loop runs in."""

    def __init__(self, ray: Any, keys: FleetKeys, store: Any) -> None:
        self.client = FleetClient(ray, keys, store)
        self.loop = asyncio.new_event_loop()
        self._thread = Thread(target=self.loop.run_forever, name="skillkit-fleet", daemon=True)
        self._thread.start()
        atexit.register(self._give_back)

    def _give_back(self) -> None:
        """Let a program that ends without closing its runner keep no slot; what runs ends as if it died."""
        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(self.client.give_back(), self.loop).result(_GOODBYE)

    def close(self) -> None:
        atexit.unregister(self._give_back)
        asyncio.run_coroutine_threadsafe(self._end(), self.loop).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    async def _end(self) -> None:
        await self.client.close()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


class _Running(Generic[T]):
    """A run on the fleet's thread, seen from another one."""

    def __init__(self, loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> None:
        self.outcome: Future[T] = Future()
        self._loop = loop
        self._task: asyncio.Task[T] | None = None
        loop.call_soon_threadsafe(self._begin, work)

    def cancel(self) -> None:
        """Kill the script; `outcome` is there when it is gone."""
        self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _begin(self, work: Coroutine[Any, Any, T]) -> None:
        self._task = self._loop.create_task(work)
        self._task.add_done_callback(self._end)

    def _end(self, task: "asyncio.Task[T]") -> None:
        if task.cancelled():
            self.outcome.cancel()
        elif (error := task.exception()) is not None:
            self.outcome.set_exception(error)
        else:
            self.outcome.set_result(task.result())
