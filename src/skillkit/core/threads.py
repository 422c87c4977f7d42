"""Blocking work away from the event loop; only programs that have a loop import asyncio."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Return what `work` returns, called in another thread."""
    import asyncio

    return await asyncio.to_thread(work, *arguments, **named)
