"""Standard output belongs to the program: output of a toolset is captured."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from threading import RLock, Thread
from typing import IO, Any

_KEPT = 10_000
_STDOUT, _STDERR = 1, 2


class CapturedOutput:
    """The beginning of the captured output."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        self.text += text[: _KEPT - len(self.text)]
        return len(text)


_printed: ContextVar[CapturedOutput | None] = ContextVar("skillkit_toolset_printed", default=None)


class _Stdout:
    """The real standard output, except for toolsets."""

    def __init__(self, real: IO[str], replaced: IO[str]) -> None:
        self.real = real
        self.replaced = replaced

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


class _OutputCapture:
    """Replaces standard output while a toolset, or a thread that one started, is running.

    `sys.stdout` asks who prints. The descriptor cannot ask, so it leads to standard error meanwhile,
    also for programs that a toolset starts; the program itself writes to a descriptor of its own.
    """

    def __init__(self) -> None:
        self._lock = RLock()
        self._users = 0
        self._kept: int | None = None

    def enter(self) -> None:
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._divert()

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._restore()

    def _divert(self) -> None:
        if Thread.start is not _start_apart:
            Thread.start = _start_apart  # type: ignore[method-assign, assignment]
        replaced = real = sys.stdout
        with suppress(OSError, ValueError):  # there is none, or it is no file
            replaced.flush()
            self._kept = os.dup(_STDOUT)
            os.dup2(_STDERR, _STDOUT)
            if replaced.fileno() == _STDOUT:
                real = open(  # noqa: SIM115
                    self._kept, "w", encoding=replaced.encoding, errors=replaced.errors, closefd=False
                )
                real.reconfigure(line_buffering=True)
        sys.stdout = _Stdout(real, replaced)

    def _restore(self) -> None:
        stand_in = sys.stdout
        with suppress(OSError, ValueError):
            stand_in.flush()
        if isinstance(stand_in, _Stdout):
            sys.stdout = stand_in.replaced
        if self._kept is not None:
            os.dup2(self._kept, _STDOUT)
            os.close(self._kept)
            self._kept = None


_output_capture = _OutputCapture()
_start = Thread.start


def _start_apart(thread: Thread) -> None:
    """Start a thread; one that a toolset starts writes where the toolset does, for as long as it runs."""
    if _printed.get() is None:
        return _start(thread)
    context, run = copy_context(), thread.run

    def run_apart() -> None:
        try:
            context.run(run)
        finally:
            _output_capture.leave()

    thread.run = run_apart  # type: ignore[method-assign]
    _output_capture.enter()
    try:
        _start(thread)
    except BaseException:
        _output_capture.leave()
        raise


@contextmanager
def capture_printed() -> Iterator[CapturedOutput]:
    """Keep what this context prints; other threads and tasks print as always."""
    printed = CapturedOutput()
    token = _printed.set(printed)
    _output_capture.enter()
    try:
        yield printed
    finally:
        _output_capture.leave()
        _printed.reset(token)
