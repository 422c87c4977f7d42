"""Both pipes of a running script, read at once into bounded memory until it ends or is ended."""

import contextlib
import os
import selectors
import time
from collections import deque
from dataclasses import dataclass

from skillkit.scripts.models import Captured, Limits, Outcome
from skillkit.scripts.sandbox.backend import Running

_CHUNK = 1 << 16
_WATCH_EVERY = 0.25
_POLL_EVERY = 0.02
_LEFT_IN_PIPE = 4 << 20
_PATIENCE = 10.0
"""Seconds to wait for a killed tree to be gone before it is left to the kernel."""


class Cancellation:
    """A way to say "stop" from another thread."""

    def __init__(self) -> None:
        self._reading, self._writing = os.pipe()
        self._closed = False

    def fileno(self) -> int:
        return self._reading

    def set(self) -> None:
        if not self._closed:
            with contextlib.suppress(OSError):
                os.write(self._writing, b"x")

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            os.close(self._reading)
            os.close(self._writing)


class Stream:
    """The head and the tail of what went by, and how much it was."""

    def __init__(self, limit: int) -> None:
        self._head_limit = limit - limit // 2
        self._tail_limit = limit // 2
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self.total = 0

    def add(self, chunk: bytes) -> None:
        self.total += len(chunk)
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        if not chunk or not self._tail_limit:
            return
        self._tail.append(chunk)
        self._tail_size += len(chunk)
        while self._tail_size - len(self._tail[0]) >= self._tail_limit:
            self._tail_size -= len(self._tail.popleft())

    def captured(self) -> Captured:
        tail = b"".join(self._tail)
        return Captured(bytes(self._head), tail[-self._tail_limit :] if tail else b"", self.total)


@dataclass(frozen=True, slots=True)
class Pumped:
    """What was read, and what ended it."""

    outcome: Outcome
    stdout: Captured
    stderr: Captured


class Pump:
    """Reads a running tree to its end within limits."""

    def __init__(self, running: Running, limits: Limits, cancellation: Cancellation) -> None:
        self._running = running
        self._limits = limits
        self._streams = {
            running.stdout: Stream(limits.output),
            running.stderr: Stream(limits.output),
        }
        self._cancellation = cancellation
        self._outcome = Outcome.EXITED

    def run(self) -> Pumped:
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
        streams = self._streams
        return Pumped(
            self._outcome,
            streams[running.stdout].captured(),
            streams[running.stderr].captured(),
        )

    def _loop(self, selector: selectors.BaseSelector) -> None:
        running = self._running
        now = time.monotonic()
        deadline = now + self._limits.timeout
        watch = now + _WATCH_EVERY
        killed_at: float | None = None
        while True:
            wait = min(deadline, watch) - now
            if running.ended is None:
                wait = min(wait, _POLL_EVERY)
            for key, _ in selector.select(max(wait, 0)):
                if key.fd == running.ended:
                    return
                if key.fd in self._streams:
                    if self._read(key.fd) == b"":
                        selector.unregister(key.fd)
                else:
                    selector.unregister(key.fd)
                    self._outcome = Outcome.CANCELLED
            now = time.monotonic()
            if running.ended is None and running.poll():
                return
            if self._outcome is Outcome.EXITED:
                self._outcome = self._exceeded(now, deadline, watch)
            if now >= watch:
                watch = now + _WATCH_EVERY
            if self._outcome is not Outcome.EXITED:
                if killed_at is None:
                    killed_at, deadline = now, now + _PATIENCE
                    running.kill()
                elif now > deadline:
                    return

    def _exceeded(self, now: float, deadline: float, watch: float) -> Outcome:
        limits = self._limits
        if now >= deadline:
            return Outcome.TIMEOUT
        if sum(stream.total for stream in self._streams.values()) > limits.output_kill:
            return Outcome.OUTPUT_LIMIT
        if now >= watch:
            usage = self._running.usage()
            if usage.memory is not None and usage.memory > limits.memory:
                return Outcome.MEMORY_LIMIT
            if usage.disk is not None and usage.disk > limits.work_size:
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
