"""Calls of Ray that may never return: a cluster that has lost its head keeps whoever asks it waiting."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def ray_call(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a call in a thread of its own that no program has to wait for when it ends.

    `asyncio.to_thread` would do but for that: its threads are joined at exit.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if outcome.done():
            return
        if error is not None:
            outcome.set_exception(error)
        else:
            outcome.set_result(result)  # type: ignore[arg-type]

    def call() -> None:
        result, problem = None, None
        try:
            result = function(*args, **kwargs)
        except Exception as error:
            problem = error
        with suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(settle, result, problem)

    Thread(target=call, name="skillkit-fleet-call", daemon=True).start()
    return await outcome
