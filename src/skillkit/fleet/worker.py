"""The actor that runs scripts on one machine: documents in, sealed results out, the rest as locally."""

import asyncio
import contextlib
import json
import logging
import os
import socket
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from skillkit._version import __version__
from skillkit.core.disk import agent_home, remove_tree
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.threads import in_daemon_thread
from skillkit.fleet.cluster import find_dispatchers, get_dispatcher, import_ray, number_of
from skillkit.fleet.envelopes import unpack_request
from skillkit.fleet.packing import unpack_tree
from skillkit.fleet.protocol import HEARTBEAT, PROTOCOL
from skillkit.fleet.sealing import FleetKeys, Label, RequestGuard, SealError
from skillkit.fleet.tree_stores import TreeSource, open_tree_store
from skillkit.scripts.documents import DocumentError, result_to_json
from skillkit.scripts.models import Outcome, ScriptRequest, ScriptResult
from skillkit.scripts.runner import LocalRunner

logger = logging.getLogger(__name__)

Reply = tuple[str, Any]
"""`("result", sealed)`, `("tree", digest)` for a tree that is wanted, `("finishing", "")` for a run that has
to start elsewhere, `("failed", why it did not start)`."""
_RARELY = 10
_MAX_KEPT = 1000
_MAX_FOLLOWED = 1 << 20
"""Bytes of output that can be followed while a script runs; the result has what its limits say."""


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """How a machine serves; every process of the fleet on it gets the same."""

    name: str
    slots: int
    place: str
    """The machine and which of its workers; a new worker at the same place replaces the older one."""
    home: str | None = None
    sandbox: str | None = None
    keys: str | None = None
    trees: str | None = None
    """A store that trees are fetched from before the client is asked."""
    protocol: int = PROTOCOL


@dataclass(slots=True)
class _Run:
    label: Label
    task: "asyncio.Task[ScriptResult]"
    lines: list[str] = field(default_factory=list)
    size: int = 0
    news: asyncio.Event = field(default_factory=asyncio.Event)


class Worker:
    """Runs what clients with a grant of the dispatcher send, at most once, in this machine's sandbox."""

    def __init__(self, options: WorkerOptions) -> None:
        home = Path(options.home or agent_home() / "fleet")
        self._options = options
        self._runner = LocalRunner(home, concurrency=options.slots, sandbox=options.sandbox)
        self._sandbox = self._runner.sandbox.choose().name  # raises where none holds: no worker, no run
        self._keys = FleetKeys.read(Path(options.keys) if options.keys else None)
        self._guard = RequestGuard(self._keys, options.name)
        self._store: TreeSource | None = open_tree_store(options.trees) if options.trees else None
        self._runs: dict[str, _Run] = {}
        self._followed: dict[int, str] = {}
        self._kept: dict[str, tuple[float, bytes]] = {}
        self._finishing = asyncio.Event()
        self._dispatcher: Any = None

    async def serve(self) -> str:
        """Give signs of life until the worker has finished; return why it has."""
        ray = import_ray()
        context = ray.get_runtime_context()
        facts = {
            "protocol": self._options.protocol,
            "version": __version__,
            "node": context.get_node_id(),
            "host": socket.gethostname(),
            "address": ray.util.get_node_ip_address(),
            "place": self._options.place,
            "slots": self._options.slots,
            "sandbox": self._sandbox,
            "pid": os.getpid(),
        }
        count, finishing = 0, False
        while self._runs or not finishing:
            finishing = self._finishing.is_set()
            changing = {"trees": self._runner.trees.count(), "finishing": finishing}
            await self._beat(ray, {**facts, **changing}, rarely=count % _RARELY == 0)
            count += 1
            if finishing:  # stays for a while to say so to those who have been sent here before
                await asyncio.sleep(HEARTBEAT)
            else:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(HEARTBEAT):
                        await self._finishing.wait()
        if self._dispatcher is not None:
            self._dispatcher.retire.remote(self._options.name, ended=True)
        return "drained"

    async def run(self, sealed: bytes) -> Reply:
        """Run the request in a document; the script is started at most once for it."""
        with ExitStack() as held:
            request = self._admit(sealed, held)
            if isinstance(request, str):
                return "failed", request
            label, asked = request
            if self._finishing.is_set():
                return "finishing", ""
            if not self._holds(asked.digest) and not await self._fetch(asked.digest):
                return "tree", asked.digest
            result = await self._execute(label, asked)
        if result.outcome in (Outcome.REFUSED, Outcome.BROKEN) and not self._holds(asked.digest):
            return "tree", asked.digest  # removed from the cache a moment before it was to be used
        reply = self._keys.seal(replace(label, kind="result"), result_to_json(result))
        if label.keep:
            self._keep(label, reply)
        return "result", reply

    async def output(self, run: str, position: int) -> tuple[int, bytes]:
        """Return the lines that a run has printed since `position`, sealed, as soon as there is one."""
        known = self._runs.get(run)
        if known is None:
            return -1, b""
        if len(known.lines) <= position and not known.task.done():
            known.news.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(HEARTBEAT):
                    await known.news.wait()
        lines = known.lines[position:]
        sealed = self._keys.seal(replace(known.label, kind="output"), json.dumps(lines).encode())
        return position + len(lines), sealed

    async def collect(self, run: str) -> bytes | None:
        """Return the result of a run whose client is gone, None when there is none (any more)."""
        if (known := self._runs.get(run)) is not None:
            await asyncio.wait([known.task])
            await asyncio.sleep(0)
        return self._kept.get(run, (0.0, None))[1]

    async def cancel(self, run: str) -> None:
        """End a run; its script is gone when its result is there."""
        if (known := self._runs.get(run)) is not None:
            known.task.cancel()

    async def add_tree(self, digest: str, packed: bytes) -> str | None:
        """Keep a tree on this machine; return why it cannot be kept, None when it is."""
        try:
            await asyncio.to_thread(self._add_tree, digest, packed)
        except (SkillsUseError, OSError) as error:
            return str(error)
        return None

    async def prepare(self, sealed: bytes) -> Reply:
        """Fetch a tree and build what a script needs, and start nothing."""
        with ExitStack() as held:
            request = self._admit(sealed, held)
            if isinstance(request, str):
                return "failed", request
            asked = request[1]
            if not self._holds(asked.digest) and not await self._fetch(asked.digest):
                return "tree", asked.digest
            why = await asyncio.to_thread(self._runner.prepare, asked)
            return ("ready", "") if why is None else ("failed", why)

    async def finish(self) -> None:
        """Take nothing more, and end when what runs has ended."""
        self._finishing.set()

    # Inside

    def _admit(self, sealed: bytes, held: ExitStack) -> tuple[Label, ScriptRequest] | str:
        """Return what is in a document, or why it is not let in; nothing here runs without a sandbox.

        Input files stay as long as `held`.
        """

        def new_folder() -> Path:
            return Path(held.enter_context(tempfile.TemporaryDirectory(prefix="skillkit-inputs-")))

        try:
            label, content = self._guard.admit(sealed)
            request = unpack_request(content, new_folder)
            if request.digest != label.digest:
                raise SealError("A document whose label names another tree than its request")
        except (SealError, DocumentError) as error:
            return str(error)
        return label, replace(request, unsandboxed=False) if request.unsandboxed else request

    async def _execute(self, label: Label, request: ScriptRequest) -> ScriptResult:
        loop = asyncio.get_running_loop()
        if label.follow:
            self._runner.follow = partial(self._tell, loop)
            self._followed[id(request)] = label.run
        run = _Run(label, loop.create_task(self._runner.arun(request)))
        self._runs[label.run] = run
        try:
            return await run.task
        except asyncio.CancelledError:
            return ScriptResult(Outcome.CANCELLED, self._sandbox, message="Script was cancelled")
        except Exception as error:
            logger.exception("A run failed in a way that was not foreseen")
            return ScriptResult(Outcome.LOST, self._sandbox, message=f"The script may have run: {error}")
        finally:
            self._followed.pop(id(request), None)
            run.news.set()
            loop.call_later(2 * HEARTBEAT if label.follow else 0, self._runs.pop, label.run, None)

    def _tell(self, loop: asyncio.AbstractEventLoop, request: ScriptRequest, line: str) -> None:
        """Keep a line for whoever follows the run; called in the thread that reads the script's output."""
        if (run := self._followed.get(id(request))) is not None:
            loop.call_soon_threadsafe(self._add_line, run, line)

    def _add_line(self, name: str, line: str) -> None:
        if (run := self._runs.get(name)) is not None and run.size < _MAX_FOLLOWED:
            run.size += len(line) + 1
            run.lines.append(line)
            run.news.set()

    def _keep(self, label: Label, reply: bytes) -> None:
        now = time.monotonic()
        self._kept = {run: kept for run, kept in self._kept.items() if kept[0] > now}
        while len(self._kept) >= _MAX_KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[label.run] = (now + label.keep, reply)

    def _holds(self, digest: str) -> bool:
        return self._runner.trees.has(digest)

    async def _fetch(self, digest: str) -> bool:
        """Whether the store that this machine was told to ask has the tree, and it is the right one."""
        if self._store is None:
            return False
        try:
            packed = await asyncio.to_thread(self._store.get, digest)
        except (SkillsUseError, OSError) as error:
            logger.warning("The store of trees cannot be asked: %s", error)
            return False
        if packed is None:
            return False
        if (why := await self.add_tree(digest, packed)) is not None:
            logger.error("The store of trees has something else under %s: %s", digest, why)
            return False
        return True

    def _add_tree(self, digest: str, packed: bytes) -> None:
        scratch = Path(tempfile.mkdtemp(prefix="skillkit-tree-"))
        try:
            unpack_tree(packed, scratch / "tree")
            with self._runner.trees.pinned(scratch / "tree", digest):
                pass
        finally:
            remove_tree(scratch)

    async def _beat(self, ray: Any, facts: dict[str, Any], *, rarely: bool) -> None:
        """Tell the dispatcher that serves this machine; one of another version is told now and then."""
        try:
            if self._options.protocol != PROTOCOL:
                if rarely:
                    for other in (await in_daemon_thread(find_dispatchers, ray)).values():
                        other.beat.remote(self._options.name, facts)
                return
            if self._dispatcher is None:
                self._dispatcher = await in_daemon_thread(self._find_dispatcher, ray)
            async with asyncio.timeout(2):
                answer = await self._dispatcher.beat.remote(self._options.name, facts)
        except (TimeoutError, ray.exceptions.RayError, ValueError) as error:
            logger.info("No dispatcher at the moment: %s", type(error).__name__)
            self._dispatcher = None
            return
        for run in list(self._runs.values()):
            if run.label.slot in answer["end"] and not run.label.keep:
                await self.cancel(run.label.run)

    def _find_dispatcher(self, ray: Any) -> Any:
        first = get_dispatcher(ray)
        count = ray.get(first.greet.remote(self._options.name, PROTOCOL), timeout=2)["dispatchers"]
        number = number_of(self._options.place, count)
        return first if number == 0 else get_dispatcher(ray, number)
