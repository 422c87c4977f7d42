"""Long work in a thread that gives an event loop its turn."""

import time
from collections.abc import Iterable, Iterator
from threading import current_thread, main_thread
from typing import TypeVar

ITEMS = 8
PAUSE = 0.0001
"""Seconds: enough for a thread that waits to wake up."""

Item = TypeVar("Item")


def taking_turns(items: Iterable[Item]) -> Iterator[Item]:
    """`items`, with a short pause after every few where another thread may be waiting.

    A thread that makes one quick system call after another gives Python's lock away and has it back before
    anybody has woken up. Without a real pause, an event loop was seen to wait a tenth of a second for it.
    """
    alone = current_thread() is main_thread()
    for number, item in enumerate(items, 1):
        yield item
        if not alone and number % ITEMS == 0:
            time.sleep(PAUSE)
