"""Whether a question is answered in place: a thread costs several times what a quick answer takes."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from skillkit.core.manager import SkillManager

QUICK_SECONDS = 0.002
"""Of processor time, which an answer may take of the event loop."""


class Quickness:
    """Remembers whether the last answer about the skills of a manager took no time at all."""

    def __init__(self, manager: SkillManager) -> None:
        self._manager = manager
        self._quick_at: int | None = None
        """The generation of the manager at which an answer took no time."""
        self._waited = False
        """Whether the last answer computed little and took long: once, the machine may have been busy."""

    @property
    def at_once(self) -> bool:
        """Whether the next answer needs no thread."""
        return self._quick_at == self._manager.generation

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Judge by what is done within."""
        started, busy = time.monotonic(), time.thread_time()
        was_quick = self.at_once and not self._waited
        yield
        computes = time.thread_time() - busy >= QUICK_SECONDS
        self._waited = time.monotonic() - started >= 5 * QUICK_SECONDS  # for a policy that asks somebody else
        quick = not computes and (was_quick or not self._waited)
        self._quick_at = self._manager.generation if quick else None
