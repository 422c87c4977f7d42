"""Makes sockets in the namespaces of another process and hands them over.

Run as a program with nothing but the standard library: `python -I -S socket_maker.py DESCRIPTOR`. It
answers questions on that descriptor until the other side is closed, each in a process of its own.
"""

import array
import ctypes
import json
import os
import socket
import sys

_NEW = {"user": 0x10000000, "net": 0x40000000}
_BACKLOG = 64


def enter(process: int, kind: str) -> None:
    """Move this thread into a namespace of another process."""
    descriptor = os.open(f"/proc/{process}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        library = ctypes.CDLL(None, use_errno=True)
        if library.setns(descriptor, _NEW[kind]) != 0:
            number = ctypes.get_errno()
            raise OSError(number, f"setns {kind}: {os.strerror(number)}")
    finally:
        os.close(descriptor)


def listeners(ports: list[int]) -> list[socket.socket]:
    """The sockets of one sandbox, made where this thread is."""
    made = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM)]
    made[0].bind(("127.0.0.1", 53))
    for port in ports:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        made.append(listener)
        listener.bind(("0.0.0.0", port))
        listener.listen(_BACKLOG)
    return made


def _answer(channel: socket.socket, question: bytes) -> None:
    wanted = json.loads(question)
    descriptors: array.array[int] = array.array("i")
    try:
        enter(wanted["process"], "user")
        enter(wanted["process"], "net")
        made = listeners(wanted["ports"])
        descriptors.extend(each.fileno() for each in made)
        answer = b"ok"
    except OSError as error:
        answer = str(error).encode()[:1000]
    channel.sendmsg([answer], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)] if descriptors else [])


def main() -> None:
    channel = socket.socket(fileno=int(sys.argv[1]))
    while question := channel.recv(4096):
        child = os.fork()
        if child == 0:
            try:
                _answer(channel, question)
            finally:
                os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
