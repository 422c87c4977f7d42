"""The gateway's Ray driver, in a child process: Ray ends its process when a raylet or the head dies."""

import asyncio
import base64
import contextlib
import itertools
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from skillkit.core.exceptions import SkillsUseError
from skillkit.core.foreign_json import parse_json
from skillkit.core.threads import in_daemon_thread
from skillkit.fleet.cluster import NAMESPACE, FleetError, check_head, connect, workers_and_addresses

_START = 30.0
"""Timeout in seconds for a driver to join the cluster."""
_BACK_OFF = (0.5, 1.0, 2.0, 5.0, 10.0)
_LISTING = 5.0
_TRIES = 3
_BYTES = "$bytes"
_LENGTH = 8


class EngineLostError(FleetError, code="engine-lost"):
    """The driver died; pending requests may have been delivered."""


class WorkerGoneError(FleetError, code="worker-gone"):
    """The worker died; the request may have been delivered."""


class NoWorkerError(WorkerGoneError, code="no-worker"):
    """The worker does not exist (any more), so nothing was sent."""


_ERRORS = {"gone": WorkerGoneError, "none": NoWorkerError}


class Engine:
    """Calls workers through a driver that is restarted, with back-off, whenever it dies."""

    def __init__(self, address: str, say: Callable[[str], None]) -> None:
        self.address = address
        self.problem = "not connected yet"
        """Why no driver is running; empty if one is."""
        self.addresses: list[str] = []
        """Addresses of every machine of the cluster, as last listed."""
        self._say = say
        self._process: asyncio.subprocess.Process | None = None
        self._ready = asyncio.Event()
        self._unable = 0
        self._numbers = itertools.count()
        self._calls: dict[int, asyncio.Future[Any]] = {}

    async def keep_running(self) -> None:
        """Run drivers until cancelled."""
        failures = 0
        while True:
            began = asyncio.get_running_loop().time()
            try:
                await self._run_once()
            except (SkillsUseError, OSError) as error:
                self._lost(str(error))
            if asyncio.get_running_loop().time() - began > 60:
                failures = 0
            await asyncio.sleep(_BACK_OFF[min(failures, len(_BACK_OFF) - 1)])
            failures += 1

    async def ready(self) -> None:
        """Wait until a driver is running."""
        await self._ready.wait()

    async def workers(self) -> list[str]:
        """Return the names of all workers; a driver that repeatedly fails to list them is replaced."""
        try:
            async with asyncio.timeout(_LISTING):
                found, self.addresses = await self._ask("workers")
        except EngineLostError:
            raise
        except (TimeoutError, FleetError):
            self._unable += 1
            if self._unable >= _TRIES and self._process is not None:
                with contextlib.suppress(ProcessLookupError):
                    self._process.kill()
            raise
        self._unable = 0
        return list(found)

    async def call(self, worker: str, method: str, *arguments: Any, seconds: float | None = None) -> Any:
        """Call a worker's method and return its result."""
        async with asyncio.timeout(seconds):
            return await self._ask("call", worker, method, *arguments)

    async def _ask(self, operation: str, *arguments: Any) -> Any:
        if self._process is None or self._process.stdin is None or not self._ready.is_set():
            raise EngineLostError(f"no Ray driver: {self.problem}")
        number = next(self._numbers)
        answer = self._calls[number] = asyncio.get_running_loop().create_future()
        try:
            self._process.stdin.write(_frame([number, operation, *arguments]))
            return await answer
        finally:
            self._calls.pop(number, None)

    async def _run_once(self) -> None:
        await in_daemon_thread(check_head, self.address)
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "skillkit.fleet.engine", self.address),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,  # interrupts at the terminal are handled by the gateway
        )
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(_START):
                problem = await _read_frame(self._process.stdout)
            if problem:
                raise FleetError(str(problem))
            self.problem = ""
            self._ready.set()
            self._say(f"Joined the cluster at {self.address}")
            while True:
                number, kind, value = await _read_frame(self._process.stdout)
                if (answer := self._calls.get(number)) is not None and not answer.done():
                    if kind == "value":
                        answer.set_result(value)
                    else:
                        answer.set_exception(_ERRORS.get(kind, FleetError)(str(value)))
        except TimeoutError as error:
            raise FleetError(f"no connection to the cluster within {_START:g} s") from error
        except (asyncio.IncompleteReadError, OSError) as error:
            raise FleetError("the Ray driver died") from error
        finally:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()

    def _lost(self, problem: str) -> None:
        self._ready.clear()
        if problem != self.problem:
            self._say(f"{problem}; trying again")
        self.problem = problem
        for answer in self._calls.values():
            if not answer.done():
                answer.set_exception(EngineLostError(problem))


# Frames between gateway and driver: length-prefixed JSON, with bytes in base64


def _frame(message: Any) -> bytes:
    content = json.dumps(message, default=lambda data: {_BYTES: base64.b64encode(data).decode()}).encode()
    return len(content).to_bytes(_LENGTH, "big") + content


async def _read_frame(stream: asyncio.StreamReader) -> Any:
    size = int.from_bytes(await stream.readexactly(_LENGTH), "big")
    return parse_json(
        await stream.readexactly(size),
        object_hook=lambda words: base64.b64decode(words[_BYTES]) if words.keys() == {_BYTES} else words,
    )


# Inside the child


class _Driver:
    """Serves requests of the gateway, one task each; exits when its standard input is closed."""

    def __init__(self, ray: Any, write: Callable[[bytes], None]) -> None:
        self._ray = ray
        self._write = write
        self._actors: dict[str, Any] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, stream: asyncio.StreamReader) -> None:
        self._write(_frame(""))
        while True:
            number, operation, *arguments = await _read_frame(stream)
            task = asyncio.create_task(self._answer(number, operation, arguments))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _answer(self, number: int, operation: str, arguments: list[Any]) -> None:
        errors = self._ray.exceptions
        try:
            kind, value = "value", await getattr(self, operation)(*arguments)
        except NoWorkerError as error:
            kind, value = "none", str(error)
        except errors.RayActorError as error:
            self._actors.pop(arguments[0], None)
            kind, value = "gone", type(error).__name__
        except (errors.RayError, SkillsUseError) as error:
            kind, value = "failed", f"{type(error).__name__}: {str(error).strip().splitlines()[-1:]}"
        self._write(_frame([number, kind, value]))

    async def workers(self) -> tuple[list[str], list[str]]:
        return await in_daemon_thread(workers_and_addresses, self._ray)

    async def call(self, worker: str, method: str, *arguments: Any) -> Any:
        actor = await self._actor(worker)
        if method == "run":  # Ray does not say whether a call reached a worker that died
            try:
                await actor.presence.remote()
            except self._ray.exceptions.RayActorError as error:
                self._actors.pop(worker, None)
                raise NoWorkerError(type(error).__name__) from error
        return await getattr(actor, method).remote(*arguments)

    async def _actor(self, name: str) -> Any:
        if name not in self._actors:
            try:
                self._actors[name] = await in_daemon_thread(self._ray.get_actor, name, NAMESPACE)
            except ValueError as error:
                raise NoWorkerError("no such worker") from error
        return self._actors[name]


async def _main(address: str) -> None:
    output = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # Ray's output must not mix with the frames

    def write(frame: bytes) -> None:
        view = memoryview(frame)
        while view:
            view = view[output.write(view) or 0 :]

    stream = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stream), sys.stdin)
    try:
        ray = await in_daemon_thread(connect, address)
    except SkillsUseError as error:
        write(_frame(str(error)))
        return
    with contextlib.suppress(asyncio.IncompleteReadError):
        await _Driver(ray, write).serve(stream)


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1]))
    os._exit(0)  # exit without waiting for Ray's threads
