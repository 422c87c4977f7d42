"""Bytes from one connection to another and back, until both are done."""

import contextlib
import fcntl
import os
import socket
from threading import Lock, Thread

_CHUNK = 1 << 20
_SET_PIPE_SIZE = getattr(fcntl, "F_SETPIPE_SZ", 1031)


class Allowance:
    """How many bytes the connections of one run may still carry together."""

    def __init__(self, sent: int, received: int) -> None:
        self._lock = Lock()
        self._left = {"sent": sent, "received": received}

    def spend(self, way: str, size: int) -> bool:
        """Count `size` bytes; False once the limit is exceeded."""
        with self._lock:
            self._left[way] -= size
            return self._left[way] >= 0

    def is_spent(self) -> bool:
        return min(self._left.values()) < 0


def relay(
    inside: socket.socket, outside: socket.socket, first: bytes, allowance: Allowance
) -> tuple[int, int]:
    """Pass `first` and everything after it on; return how many bytes were sent and received."""
    sent: list[int] = []
    # Each way in a thread of its own: one side may refuse to read until what it sends is read.
    upload = Thread(
        target=lambda: sent.append(_copy(inside, outside, "sent", allowance, first)),
        name="skillkit-gateway-upload",
        daemon=True,
    )
    upload.start()
    received = _copy(outside, inside, "received", allowance)
    upload.join()
    return sent[0], received


def _copy(
    source: socket.socket, target: socket.socket, way: str, allowance: Allowance, first: bytes = b""
) -> int:
    total = len(first)
    reading, writing = os.pipe()
    try:
        with contextlib.suppress(OSError):  # a user may have only so much of it
            fcntl.fcntl(writing, _SET_PIPE_SIZE, _CHUNK)
        target.sendall(first)
        # By way of a pipe the bytes never leave the kernel.
        while size := os.splice(source.fileno(), writing, _CHUNK):
            total += size
            if not allowance.spend(way, size):
                _end(source, target)
                break
            while size:
                size -= os.splice(reading, target.fileno(), size)
        target.shutdown(socket.SHUT_WR)
    except OSError:  # either side may go away at any time; then the other has nobody to talk to
        _end(source, target)
    finally:
        os.close(reading)
        os.close(writing)
    return total


def _end(*connections: socket.socket) -> None:
    for each in connections:
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
