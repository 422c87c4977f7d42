"""Slow values: computed in a thread, shown by pages once available."""

import logging
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

logger = logging.getLogger(__name__)

Value = TypeVar("Value")


class Background(Generic[Value]):
    """Computes a value again whenever what it is made from has changed."""

    def __init__(self, compute: Callable[[], Value]) -> None:
        self._compute = compute
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._tried: object = None
        self._key: object = None
        self.latest: Value | None = None
        """The last value, current or stale."""

    def get(self, key: object) -> Value | None:
        """Return the value for `key`; None while it is computed, or where that failed."""
        with self._lock:
            if self._tried != key and self._thread is None:
                self._tried = key
                self._thread = threading.Thread(target=self._run, args=(key,), daemon=True)
                self._thread.start()
            return self.latest if self._key == key else None

    def wait(self, seconds: float) -> bool:
        """Wait for a running computation; return whether there is a value."""
        if (thread := self._thread) is not None:
            thread.join(seconds)
        return self.latest is not None

    def has(self, key: object) -> bool:
        return self._key == key

    def _run(self, key: object) -> None:
        try:
            self.latest = self._compute()
            self._key = key
        except Exception:
            logger.exception("A background task of the inspector failed")
        finally:
            with self._lock:
                self._thread = None
