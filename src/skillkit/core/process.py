"""Bounded subprocesses: in a session of their own, without a terminal, within limits."""

import os
import select
import signal
import subprocess
import time
from _thread import start_new_thread
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

MAX_MEMORY = 512 * 1024 * 1024
_PAUSE = 0.2
"""Seconds between two looks at the limits."""
_ENDING = 0.005
"""Seconds between two looks at a program that has closed its pipes and is not gone yet."""
_CHUNK = 65536
_COMPLAINT = 65536
_DRAINED = 32
"""Chunks that are read after the end of the program."""
# A limit that children inherit has to be set before the program starts, and not by code of ours between
# fork and exec, which can dead-lock in a process with threads.
# The second process ends the whole group when the pipe closes: that happens when ours is gone, even when it
# was killed. PDEATHSIG would follow the thread that starts the program, and has to end with it.
_STARTER = """
ulimit -d "$1" 2>/dev/null
{ read -r _ < "/dev/fd/$2"; kill -s KILL -- "-$$"; } > /dev/null 2>&1 &
shift 2
exec "$@"
"""


class FolderLimit:
    """Limit on what the program writes into a folder."""

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder = folder
        self.limit = limit
        self._before = self._size()

    def exceeded(self) -> bool:
        return self._size() - self._before > self.limit

    def _size(self) -> int:
        total = 0
        for root, _, names in os.walk(self.folder):
            for name in names:
                with suppress(OSError):
                    total += os.stat(os.path.join(root, name)).st_size
        return total


class Stop(Protocol):
    """A cancellation flag, such as an Event."""

    def is_set(self) -> bool: ...


@dataclass(slots=True)
class ProgramOutput:
    """Output of a program; `stopped` is the reason if it was killed."""

    output: bytes
    complaint: str
    code: int
    stopped: str = ""
    timed_out: bool = False


def run(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    cwd: Path,
    send: bytes = b"",
    limit: int = 1 << 20,
    timeout: float,
    watched: FolderLimit | None = None,
    stop: Stop | None = None,
    memory: int | None = MAX_MEMORY,
) -> ProgramOutput:
    """Run `command` with limits on time, memory, output and disk; no child outlives it or us."""
    answer = ProgramOutput(b"", "", -1)
    with _running(command, environment, cwd, memory) as process:
        pipes = _Pipes(process, send, limit)
        began = checked = time.monotonic()
        while not _has_ended(process) and not (answer.stopped or pipes.overflow):
            pipes.transfer(_PAUSE)
            if (now := time.monotonic()) - checked < _PAUSE:
                continue
            checked = now
            if watched is not None and watched.exceeded():
                break
            if now - began > timeout:
                answer.stopped, answer.timed_out = f"timeout after {timeout:.0f} seconds", True
            elif stop is not None and stop.is_set():
                answer.stopped = "interrupted"
        pipes.drain()
    answer.output, answer.complaint = bytes(pipes.output), pipes.complaint.decode("utf-8", "replace")
    if pipes.overflow:
        answer.stopped = f"more than {limit:,} bytes of output"
    elif watched is not None and watched.exceeded():
        answer.stopped = f"it is larger than {watched.limit:,} bytes"
    answer.code = process.returncode
    return answer


@contextmanager
def _running(
    command: Sequence[str], environment: Mapping[str, str], cwd: Path, memory: int | None
) -> "Iterator[subprocess.Popen[bytes]]":
    """Kill the program and its children on exit, whatever happens.

    It is started in a thread: a signal that interrupts this one cannot lose what was started.
    """
    outcome: list[subprocess.Popen[bytes] | OSError] = []
    watched, held = os.pipe()
    most = "unlimited" if memory is None else str(memory // 1024)
    limits = ["/bin/sh", "-c", _STARTER, "sh", most, str(watched)]

    def start() -> None:
        try:
            process = subprocess.Popen(
                [*limits, *command],
                env=dict(environment),
                cwd=cwd,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
                pass_fds=(watched,),
            )
            outcome.append(process)
        except OSError as error:
            outcome.append(error)

    def wait() -> None:
        while begun and not outcome:
            time.sleep(0.001)

    # Neither Thread nor Event, nor Popen's own wait: their locks stay taken when a signal handler raises.
    begun = 0
    try:
        begun = start_new_thread(start, ())
        wait()
        if isinstance(outcome[0], OSError):
            raise outcome[0]
        yield outcome[0]
    finally:
        wait()
        for process in outcome:
            if isinstance(process, subprocess.Popen):
                _end(process)
                for stream in (process.stdin, process.stdout, process.stderr):
                    if stream is not None:
                        stream.close()
        os.close(watched)
        os.close(held)


def _end(process: "subprocess.Popen[bytes]") -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    _has_ended(process, 0)


def _has_ended(process: "subprocess.Popen[bytes]", options: int = os.WNOHANG) -> bool:
    """Like `Popen.poll`, without the lock that a signal handler which raises would leave taken."""
    if process.returncode is None:
        try:
            ended, status = os.waitpid(process.pid, options)
        except ChildProcessError:
            ended, status = process.pid, signal.SIGKILL  # a call that was interrupted has reaped it
        if ended:
            process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode is not None


class _Pipes:
    """Sends a program its input and keeps the beginning of its output, without threads."""

    def __init__(self, process: "subprocess.Popen[bytes]", send: bytes, limit: int) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self.output, self.complaint = bytearray(), bytearray()
        self.overflow = False
        self._limit = limit
        self._input = process.stdin
        self._send = memoryview(send)
        self._kept = {process.stdout.fileno(): self.output, process.stderr.fileno(): self.complaint}
        self._open = select.poll()
        self._left = 3
        for descriptor in (self._input.fileno(), *self._kept):
            os.set_blocking(descriptor, False)
        for descriptor in self._kept:
            self._open.register(descriptor, select.POLLIN)
        self._open.register(self._input, select.POLLOUT)
        self._write()

    def transfer(self, seconds: float) -> bool:
        """Wait for a pipe that is ready and serve those that are; False if none became ready."""
        ready = self._open.poll(1000 * (seconds if self._left else min(seconds, _ENDING)))
        for descriptor, _ in ready:
            if descriptor in self._kept:
                self._read(descriptor)
            else:
                self._write()
        return bool(ready)

    def drain(self) -> None:
        """Read what is left, and never wait for a process that still holds a pipe."""
        for _ in range(_DRAINED):
            if not self.transfer(0):
                return

    def _read(self, descriptor: int) -> None:
        try:
            chunk = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return
        if not chunk:
            self._close(descriptor)
        kept = self._kept[descriptor]
        space = (self._limit if kept is self.output else _COMPLAINT) - len(kept)
        self.overflow |= kept is self.output and len(chunk) > space
        kept += chunk[:space]

    def _write(self) -> None:
        try:
            while self._send:
                self._send = self._send[os.write(self._input.fileno(), self._send[:_CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            pass
        self._close(self._input.fileno())
        self._input.close()

    def _close(self, descriptor: int) -> None:
        self._open.unregister(descriptor)
        self._left -= 1
