"""Bounded subprocesses: in a session of their own, without a terminal, within limits."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

MAX_MEMORY = 512 * 1024 * 1024
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

    def too_large() -> bool:
        return watched is not None and watched.exceeded()

    with _running(command, environment, cwd, memory) as process:
        output = _Reader(process.stdout, limit)
        complaint = _Reader(process.stderr, 64 * 1024)
        writer = threading.Thread(target=_send, args=(process.stdin, send), daemon=True)
        writer.start()
        deadline = time.monotonic() + timeout
        while process.poll() is None and not answer.stopped:
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.2)
            if output.overflow or too_large():
                break
            if time.monotonic() > deadline:
                answer.stopped, answer.timed_out = f"timeout after {timeout:.0f} seconds", True
            elif stop is not None and stop.is_set():
                answer.stopped = "interrupted"
    answer.output, answer.complaint = output.result(), complaint.result().decode("utf-8", "replace")
    if output.overflow:
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
    started: list[subprocess.Popen[bytes]] = []
    failed: list[OSError] = []
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
                start_new_session=True,
                pass_fds=(watched,),
            )
            started.append(process)
        except OSError as error:
            failed.append(error)
        finally:
            tried.set()

    # Not Thread.join: interrupted once, it returns immediately when called again.
    tried = threading.Event()
    thread = threading.Thread(target=start)
    try:
        thread.start()
        tried.wait()
        if failed:
            raise failed[0]
        yield started[0]
    finally:
        if thread.ident is not None:
            tried.wait()
        for process in started:
            _end(process)
        os.close(watched)
        os.close(held)


def _end(process: "subprocess.Popen[bytes]") -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _send(stream: IO[bytes] | None, data: bytes) -> None:
    if stream is not None:
        with suppress(BrokenPipeError), stream:
            stream.write(data)


class _Reader(threading.Thread):
    """Reads a pipe to its end and keeps at most `limit` bytes."""

    def __init__(self, stream: IO[bytes] | None, limit: int) -> None:
        super().__init__(daemon=True)
        self._stream = stream
        self._limit = limit
        self._kept: list[bytes] = []
        self._size = 0
        self.overflow = False
        self.start()

    def run(self) -> None:
        if self._stream is None:
            return
        with self._stream as stream:
            while chunk := stream.read1(65536):  # type: ignore[attr-defined]
                space = self._limit - self._size
                if len(chunk) > space:
                    self.overflow = True
                    chunk = chunk[:space]
                self._size += len(chunk)
                self._kept.append(chunk)

    def result(self) -> bytes:
        self.join()
        return b"".join(self._kept)
