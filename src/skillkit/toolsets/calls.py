"""Calls of toolset methods, isolated so that none blocks, ends or writes over the program."""

import asyncio
import contextvars
import inspect
import threading
import weakref
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass

from skillkit.toolsets.captured_output import capture_printed


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """Result or exception of a method, with its printed output."""

    value: object = None
    error: BaseException | None = None
    printed: str = ""


class ToolTimeoutError(Exception):
    """A method did not return in time."""


def call_apart(method: Callable[..., object], seconds: float) -> CallOutcome:
    """Call third-party code in a thread and wait; ToolTimeoutError after `seconds`."""
    try:
        return _start(method, {}).result(seconds)
    except TimeoutError:
        raise ToolTimeoutError(f"it did not return within {seconds:g} s") from None


class CallThreads:
    """Calls the methods of one toolset in threads of its own.

    Threads that do not return are left behind: they are daemons, so they keep neither the caller nor
    the program. Async methods share one event loop, because what they open belongs to a loop.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def call(
        self, method: Callable[..., object], arguments: Mapping[str, object], seconds: float
    ) -> CallOutcome:
        """Call `method`; ToolTimeoutError after `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                if inspect.iscoroutinefunction(method):
                    return await self._awaited(method(**arguments))
                outcome = await asyncio.wrap_future(_start(method, arguments))
                if inspect.isawaitable(outcome.value):
                    return await self._awaited(outcome.value)
                return outcome
        except TimeoutError as error:
            self._leave_loop()
            raise ToolTimeoutError(f"it did not return within {seconds:g} s") from error

    async def _awaited(self, awaitable: Awaitable[object]) -> CallOutcome:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_await(awaitable), self._running()))

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                weakref.finalize(self, _stop, self._loop)
                threading.Thread(
                    target=_serve, args=(self._loop,), name="skillkit-toolset-loop", daemon=True
                ).start()
            return self._loop

    def _leave_loop(self) -> None:
        """A method that blocks the loop would hold the next one too."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            _stop(loop)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left))
        loop.close()


def _stop(loop: asyncio.AbstractEventLoop) -> None:
    with suppress(RuntimeError):  # closed already
        loop.call_soon_threadsafe(loop.stop)


def _start(method: Callable[..., object], arguments: Mapping[str, object]) -> Future[CallOutcome]:
    """Call a method in a thread of its own, in a copy of this context."""
    future: Future[CallOutcome] = Future()
    context = contextvars.copy_context()

    def work() -> None:
        outcome = context.run(_call, method, arguments)
        with suppress(InvalidStateError):  # the caller gave up
            future.set_result(outcome)

    threading.Thread(target=work, name="skillkit-toolset", daemon=True).start()
    return future


def _call(method: Callable[..., object], arguments: Mapping[str, object]) -> CallOutcome:
    with capture_printed() as printed:
        try:
            return CallOutcome(method(**arguments), None, printed.text)
        except BaseException as error:  # in this thread even KeyboardInterrupt is the method's own
            return CallOutcome(None, error, printed.text)


async def _await(awaitable: Awaitable[object]) -> CallOutcome:
    with capture_printed() as printed:
        try:
            return CallOutcome(await awaitable, None, printed.text)
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            return CallOutcome(None, error, printed.text)
