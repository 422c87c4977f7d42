"""Ending a blocking run from another thread: Python itself has no way to."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import ParamSpec, TypeVar

from skillkit.core.exceptions import SkillsUseError

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
_Call = tuple[asyncio.AbstractEventLoop, "asyncio.Task[object]"]


class RunCancelledError(SkillsUseError):
    """A blocking run was ended from outside."""


class BlockingRun:
    """One run of a framework's blocking call that another thread can end.

    `run.call(agent.invoke, …)` in the thread that waits, `run.cancel()` in any other: a tool of a skill that
    runs at this moment is ended, a script with all its processes, and the run asks for nothing more.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: set[_Call] = set()
        self._cancelled = False

    def call(
        self,
        function: Callable[Parameters, Result],
        *arguments: Parameters.args,
        **named: Parameters.kwargs,
    ) -> Result:
        """Return what `function` returns; raises RunCancelledError once `cancel` was called."""

        def within() -> Result:
            _current.set(self)
            return function(*arguments, **named)

        try:
            result = copy_context().run(within)
        except (Exception, asyncio.CancelledError) as error:
            if self._cancelled:
                raise RunCancelledError("The run was cancelled") from error
            raise
        if self._cancelled:  # a framework may take the end of a tool for its answer
            raise RunCancelledError("The run was cancelled")
        return result

    def cancel(self) -> None:
        """End the calls of tools that are under way, and the run with them."""
        with self._lock:
            self._cancelled = True
            for loop, task in self._calls:
                loop.call_soon_threadsafe(task.cancel)

    @contextmanager
    def _calling(self) -> Iterator[None]:
        task = asyncio.current_task()
        assert task is not None
        call: _Call = (asyncio.get_running_loop(), task)
        with self._lock:
            self._go_on()
            self._calls.add(call)
        try:
            yield
        finally:
            with self._lock:  # whoever cancels holds it, so that no loop is closed meanwhile
                self._calls.discard(call)

    def _go_on(self) -> None:
        if self._cancelled:
            raise asyncio.CancelledError("The run was cancelled")


_current: ContextVar[BlockingRun | None] = ContextVar("skillkit_blocking_run", default=None)


@contextmanager
def cancellable_call() -> Iterator[None]:
    """Let the blocking run that this task belongs to, if any, cancel it."""
    run = _current.get()
    if run is None:
        yield
        return
    with run._calling():
        yield


def refuse_cancelled() -> None:
    """Raise if the blocking run that this belongs to was cancelled: nothing more is asked of a model."""
    run = _current.get()
    if run is not None:
        run._go_on()
