"""Standard output belongs to the program: what a toolset prints is kept apart."""

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import IO, Any

_KEPT = 10_000


class Printed:
    """The beginning of what was printed."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        self.text += text[: _KEPT - len(self.text)]
        return len(text)


_printed: ContextVar[Printed | None] = ContextVar("skillkit_toolset_printed", default=None)


class _Stdout:
    """The real standard output for everybody but toolsets."""

    def __init__(self, real: IO[str]) -> None:
        self.real = real

    def write(self, text: str) -> int:
        printed = _printed.get()
        return self.real.write(text) if printed is None else printed.write(text)

    def writelines(self, lines: list[str]) -> None:
        for line in lines:
            self.write(line)

    @property
    def buffer(self) -> IO[bytes]:
        return self.real.buffer if _printed.get() is None else io.BytesIO()  # type: ignore[attr-defined]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


class _Diversion:
    """Stands in for `sys.stdout` as long as at least one toolset is at work."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0

    def enter(self) -> None:
        with self._lock:
            self._users += 1
            if not isinstance(sys.stdout, _Stdout):
                sys.stdout = _Stdout(sys.stdout)

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0 and isinstance(sys.stdout, _Stdout):
                sys.stdout = sys.stdout.real


_diversion = _Diversion()


@contextmanager
def capture_printed() -> Iterator[Printed]:
    """Keep what this context prints; other threads and tasks print as always."""
    printed = Printed()
    token = _printed.set(printed)
    _diversion.enter()
    try:
        yield printed
    finally:
        _diversion.leave()
        _printed.reset(token)
