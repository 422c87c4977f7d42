"""Sockets that belong to the network namespace of a sandbox and are held outside it.

A socket stays in the namespace in which it was made, whoever holds it. As root a thread that ends
afterwards enters the namespace. Another user has to enter the sandbox's user namespace first, which
the kernel allows only to a process with one thread: a small helper forks one for each run.
"""

import array
import json
import os
import socket
import subprocess
import sys
import threading

from skillkit.scripts.network import socket_maker
from skillkit.scripts.sandbox.backend import SandboxError

_SECONDS = 10.0
_OBSERVERS = 4


def make_sockets(process: int, ports: list[int]) -> list[socket.socket]:
    """A datagram socket for names at 127.0.0.1:53, one listener for each port on every address, observers."""
    return _in_thread(process, ports) if os.geteuid() == 0 else _helper.ask(process, ports)


def _in_thread(process: int, ports: list[int]) -> list[socket.socket]:
    made: list[socket.socket] = []
    errors: list[OSError] = []

    def work() -> None:
        try:
            socket_maker.enter(process, "net")
            made.extend(socket_maker.listeners(ports))
            made.extend(socket_maker.observers())
        except OSError as error:
            errors.append(error)

    # Never a thread of a pool: it stays in the namespace until it ends.
    thread = threading.Thread(target=work, name="skillkit-network")
    thread.start()
    thread.join()
    if errors:
        raise SandboxError(f"The network of the sandbox could not be set up: {errors[0]}") from errors[0]
    return made


class _Helper:
    """The helper process of an ordinary user, started when it is first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._channel: socket.socket | None = None

    def ask(self, process: int, ports: list[int]) -> list[socket.socket]:
        with self._lock:
            channel = self._running()
            try:
                channel.send(json.dumps({"process": process, "ports": ports}).encode())
                answer, descriptors = _receive(channel, 1 + len(ports) + _OBSERVERS)
            except OSError as error:
                self._end()
                raise SandboxError(f"The helper for the sandbox's network failed: {error}") from error
        if answer != b"ok":
            said = answer.decode("utf-8", "replace") or "it ended"
            raise SandboxError(f"The network of the sandbox could not be set up: {said}")
        return [socket.socket(fileno=descriptor) for descriptor in descriptors]

    def _running(self) -> socket.socket:
        alive = self._process is not None and self._process.poll() is None and self._owner == os.getpid()
        if not alive or self._channel is None:
            self._end()
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", socket_maker.__file__, str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env={},
                    cwd="/",
                    pass_fds=(theirs.fileno(),),
                )
            ours.settimeout(_SECONDS)
            self._channel, self._owner = ours, os.getpid()
        return self._channel

    def _end(self) -> None:
        """The helper ends by itself when the channel is closed."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        if self._process is not None and self._owner == os.getpid():
            self._process.wait()
        self._process = None


_helper = _Helper()


def _receive(channel: socket.socket, count: int) -> tuple[bytes, list[int]]:
    descriptors = array.array("i")
    space = socket.CMSG_SPACE(count * descriptors.itemsize)
    answer, ancillary, _, _ = channel.recvmsg(4096, space, getattr(socket, "MSG_CMSG_CLOEXEC", 0))
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
    return answer, list(descriptors)
