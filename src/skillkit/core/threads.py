"""Blocking work away from the event loop; only programs that have a loop import asyncio."""

from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Return what `work` returns, called in another thread."""
    import asyncio

    return await asyncio.to_thread(work, *arguments, **named)


async def in_daemon_thread(work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """`in_thread`, but for that no program waits for `work` when it ends: it may never return."""
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
