"""Cancel a blocking run from another thread, which Python itself cannot do."""

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


class RunCancelledError(SkillsUseError, code="run-cancelled"):
    """A blocking run was cancelled."""


class BlockingRun:
    """One run of a framework's blocking call that another thread can cancel.

    `run.call(agent.invoke, …)` in the thread that waits, `run.cancel()` in any other: a tool of a skill that
    is running is stopped, a script with all its processes, and the run makes no further request.
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
        if self._cancelled:  # a framework may treat a cancelled tool as finished
            raise RunCancelledError("The run was cancelled")
        return result

    def cancel(self) -> None:
        """Cancel the running calls of tools, and the run with them."""
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
            self.refuse_cancelled()
            self._calls.add(call)
        try:
            yield
        finally:
            with self._lock:  # held while cancelling, so that the loop is not closed meanwhile
                self._calls.discard(call)

    def refuse_cancelled(self) -> None:
        """Raise if the run was cancelled."""
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
    """Raise if the current blocking run was cancelled, so that no further request is made."""
    run = _current.get()
    if run is not None:
        run.refuse_cancelled()
