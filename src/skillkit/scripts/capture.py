"""Capture of both pipes of a running script into bounded memory, until it exits or is killed."""

import os
import selectors
import time
from collections import deque
from collections.abc import Callable
from threading import Lock

from skillkit.core.grants import Limits
from skillkit.scripts.models import Captured, Outcome, ScriptResult
from skillkit.scripts.sandbox.backend import ProcessTree, SandboxError

_CHUNK = 1 << 16
_LINE = 4096
_LINES = 100
"""Lines of one chunk that are reported to a follower."""
_WATCH_EVERY = 0.25
_POLL_EVERY = 0.02
_LEFT_IN_PIPE = 4 << 20
_PATIENCE = 10.0
"""Seconds to wait for a killed tree to be gone before it is left to the kernel."""


class Cancellation:
    """Cancels a run from another thread; it holds descriptors only while something waits for it."""

    def __init__(self) -> None:
        self._pipe: tuple[int, int] | None = None
        self._set = False
        self._closed = False
        self._lock = Lock()

    def fileno(self) -> int:
        """Return a descriptor that is readable once `set` was called."""
        with self._lock:
            if self._pipe is None:
                self._pipe = os.pipe()
                if self._set:
                    os.write(self._pipe[1], b"x")
            return self._pipe[0]

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        with self._lock:
            if not self._set and self._pipe is not None and not self._closed:
                os.write(self._pipe[1], b"x")
            self._set = True

    def close(self) -> None:
        with self._lock:
            if self._pipe is not None and not self._closed:
                os.close(self._pipe[0])
                os.close(self._pipe[1])
            self._closed = True


class Stream:
    """Head, tail and size of a stream; `follow` is called with each line."""

    def __init__(self, limit: int, follow: Callable[[str], object] | None = None) -> None:
        self._follow = follow
        self._line = b""
        self._head_limit = limit - limit // 2
        self._tail_limit = limit // 2
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self.total = 0

    def add(self, chunk: bytes) -> None:
        self.total += len(chunk)
        if self._follow is not None:
            self._tell(chunk, self._follow)
        space = self._head_limit - len(self._head)
        if space > 0:
            self._head += chunk[:space]
            chunk = chunk[space:]
        if not chunk or not self._tail_limit:
            return
        self._tail.append(chunk)
        self._tail_size += len(chunk)
        while self._tail_size - len(self._tail[0]) >= self._tail_limit:
            self._tail_size -= len(self._tail.popleft())

    def _tell(self, chunk: bytes, follow: Callable[[str], object]) -> None:
        *whole, rest = (self._line + chunk).split(b"\n")
        if not chunk and rest:
            whole, rest = [*whole, rest], b""
        self._line = rest[-_LINE:]
        for line in whole[-_LINES:]:
            follow(line[:_LINE].decode("utf-8", "replace").rstrip("\r"))

    def captured(self) -> Captured:
        tail = b"".join(self._tail)
        return Captured(bytes(self._head), tail[-self._tail_limit :] if tail else b"", self.total)


def run_to_end(
    running: ProcessTree,
    limits: Limits,
    cancellation: Cancellation,
    follow: Callable[[str], object] | None = None,
) -> ScriptResult:
    """Read and watch `running`, killing it at a limit; nothing of it is left afterwards.

    If the command never started, the message says so and the exit code is meaningless.
    """
    pump = _Pump(running, limits, cancellation, follow)
    failure = ""
    try:
        pump.run()
    finally:
        try:
            code = running.finish()
        except SandboxError as error:
            code, failure = -1, str(error)
        finally:
            os.close(running.stdout)
            os.close(running.stderr)
    return ScriptResult(
        pump.outcome,
        "",
        code,
        pump.stdout.captured(),
        pump.stderr.captured(),
        memory=pump.memory or None,
        message=failure,
    )


class _Pump:
    """Reads a running tree to its end within limits."""

    def __init__(
        self,
        running: ProcessTree,
        limits: Limits,
        cancellation: Cancellation,
        follow: Callable[[str], object] | None,
    ) -> None:
        self._running = running
        self._limits = limits
        self.stdout = Stream(limits.output, follow)
        self.stderr = Stream(limits.output, follow)
        self._streams = {running.stdout: self.stdout, running.stderr: self.stderr}
        self._cancellation = cancellation
        self.outcome = Outcome.EXITED
        self.memory = 0

    def run(self) -> None:
        running = self._running
        with selectors.DefaultSelector() as selector:
            selector.register(running.stdout, selectors.EVENT_READ)
            selector.register(running.stderr, selectors.EVENT_READ)
            selector.register(self._cancellation, selectors.EVENT_READ)
            if running.ended is not None:
                selector.register(running.ended, selectors.EVENT_READ)
            self._loop(selector)
        # Writers are gone; whatever is still in the pipes is finite, and end-of-file is not waited for.
        for descriptor in self._streams:
            left = _LEFT_IN_PIPE
            while left > 0 and (chunk := self._read(descriptor)):
                left -= len(chunk)

    def _loop(self, selector: selectors.BaseSelector) -> None:
        now = time.monotonic()
        deadline, watch = now + self._limits.timeout, now + _WATCH_EVERY
        while self.outcome is Outcome.EXITED:
            if self._has_ended(selector, min(deadline, watch) - now):
                return
            now = time.monotonic()
            if self.outcome is Outcome.EXITED:
                self.outcome = self._exceeded(now, deadline, watch)
            if now >= watch:
                watch = now + _WATCH_EVERY
        self._running.kill()
        deadline = now + _PATIENCE
        while (left := deadline - time.monotonic()) > 0 and not self._has_ended(selector, left):
            pass

    def _has_ended(self, selector: selectors.BaseSelector, wait: float) -> bool:
        """Read whatever comes within `wait` seconds; return whether the whole tree has ended."""
        running = self._running
        for key, _ in selector.select(max(min(wait, _POLL_EVERY) if running.ended is None else wait, 0)):
            if key.fd == running.ended:
                return True
            if key.fd not in self._streams:
                selector.unregister(key.fd)
                self.outcome = Outcome.CANCELLED
            elif self._read(key.fd) == b"":
                selector.unregister(key.fd)
        return running.ended is None and running.poll()

    def _exceeded(self, now: float, deadline: float, watch: float) -> Outcome:
        limits = self._limits
        if now >= deadline:
            return Outcome.TIMEOUT
        if sum(stream.total for stream in self._streams.values()) > limits.output_kill:
            return Outcome.OUTPUT_LIMIT
        if now >= watch:
            usage = self._running.usage()
            self.memory = max(self.memory, usage.memory or 0)
            if usage.memory is not None and usage.memory > limits.memory:
                return Outcome.MEMORY_LIMIT
            if (usage.disk or 0) > limits.work_size or (usage.files or 0) > limits.work_files:
                return Outcome.DISK_LIMIT
        return Outcome.EXITED

    def _read(self, descriptor: int) -> bytes | None:
        """The next chunk, empty at the end, None when there is nothing yet."""
        try:
            chunk = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return None
        self._streams[descriptor].add(chunk)
        return chunk
