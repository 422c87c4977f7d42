"""Blocking work away from the event loop; only programs that have a loop import asyncio."""

from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
_POLL = 0.05


def in_time(work: Callable[[], T], check: Callable[[], object]) -> T:
    """Call `work` in a thread and return its result; the thread is abandoned once `check` raises."""
    outcome: list[T | Exception] = []
    done = Event()

    def run() -> None:
        try:
            outcome.append(work())
        except Exception as error:
            outcome.append(error)
        done.set()

    Thread(target=run, name="skillkit-daemon", daemon=True).start()
    while not done.wait(_POLL):
        check()
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    return outcome[0]


async def in_thread(work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Call `work` in another thread and return its result."""
    import asyncio

    return await asyncio.to_thread(work, *arguments, **named)


async def in_daemon_thread(work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Like `in_thread`, but the interpreter does not wait for `work` at exit."""
    import asyncio

    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: Exception | None) -> None:
        if outcome.done():
            return
        if error is not None:
            outcome.set_exception(error)
        else:
            outcome.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result, problem = None, None
        try:
            result = work(*arguments, **named)
        except Exception as error:
            problem = error
        with suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(settle, result, problem)

    Thread(target=run, name="skillkit-daemon", daemon=True).start()
    return await outcome
