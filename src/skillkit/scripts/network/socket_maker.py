"""Makes sockets in the namespaces of another process and hands them over.

Run as a program with nothing but the standard library: `python -I -S socket_maker.py DESCRIPTOR`. It
answers questions on that descriptor until the other side is closed, each in a process of its own.
"""

import array
import ctypes
import fcntl
import json
import os
import socket
import struct
import sys

_NEW = {"user": 0x10000000, "net": 0x40000000}
_BACKLOG = 64
_NEW_ROUTE, _CREATE_AND_ANSWER = 24, 0x1 | 0x4 | 0x200 | 0x400
_LOCAL_TABLE, _BY_ADMINISTRATOR, _ON_THIS_HOST, _LOCAL, _DEVICE = 255, 3, 254, 2, 4
_ATTACH_FILTER, _GET_FLAGS, _NEWS_OF_DEVICES = 26, 0x8913, 1
_SECONDS = 5.0
_KEEP, _DROP = (0x06, 0, 0, 128), (0x06, 0, 0, 0)
_BEGINS = ((0x54, 0, 0, 0x12), (0x15, 0, 1, 0x02), _KEEP, _DROP)  # SYN and no ACK
_FILTERS = {
    (socket.AF_INET, socket.IPPROTO_TCP): ((0xB1, 0, 0, 0), (0x50, 0, 0, 13), *_BEGINS),
    (socket.AF_INET6, socket.IPPROTO_TCP): ((0x30, 0, 0, 13), *_BEGINS),
    # What goes to 127.x.x.x is the script's own, unless it is to one of the addresses that stand for names.
    (socket.AF_INET, socket.IPPROTO_UDP): (
        (0x28, 0, 0, 16),
        (0x15, 2, 0, 0x7F4D),
        (0x30, 0, 0, 16),
        (0x15, 1, 0, 127),
        _KEEP,
        _DROP,
    ),
    (socket.AF_INET6, socket.IPPROTO_UDP): (_KEEP,),
}
"""Programs for the kernel that keep the first packet of each connection, and datagrams; no traffic."""


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
    _wait_for_loopback()  # before that there is no 127.0.0.1
    made = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM)]
    made[0].bind(("127.0.0.1", 53))
    for port in ports:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        made.append(listener)
        listener.bind(("0.0.0.0", port))
        listener.listen(_BACKLOG)
    return made


def observers() -> list[socket.socket]:
    """Sockets that see every connection and datagram that is tried, wherever it is to go.

    All addresses become addresses of the loopback device, where nobody listens: what was "no route"
    is "refused", and on its way there it can be seen.
    """
    made = []
    for (family, protocol), program in _FILTERS.items():
        try:
            made.append(observer := socket.socket(family, socket.SOCK_RAW, protocol))
        except OSError:
            if family == socket.AF_INET:
                raise
            continue  # a machine without IPv6, where nothing can be tried by it
        code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in program))
        attached = struct.pack("@HP", len(program), ctypes.addressof(code))
        observer.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, attached)
        if family == socket.AF_INET6:
            observer.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
    for family in dict.fromkeys(each.family for each in made):
        _route_to_loopback(family)
    return made


def _wait_for_loopback() -> None:
    """Wait until bubblewrap has set up the loopback device; to help would disturb it."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as kernel:
        kernel.bind((0, _NEWS_OF_DEVICES))
        kernel.settimeout(_SECONDS)
        while (
            not struct.unpack_from("16sH", fcntl.ioctl(kernel, _GET_FLAGS, struct.pack("40s", b"lo")))[1] & 1
        ):
            kernel.recv(65536)


def _route_to_loopback(family: int) -> None:
    route = struct.pack(
        "=8BI", family, 0, 0, 0, _LOCAL_TABLE, _BY_ADMINISTRATOR, _ON_THIS_HOST, _LOCAL, 0
    ) + struct.pack("=HHI", 8, _DEVICE, socket.if_nametoindex("lo"))
    header = struct.pack("=IHHII", 16 + len(route), _NEW_ROUTE, _CREATE_AND_ANSWER, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as kernel:
        kernel.sendto(header + route, (0, 0))
        failed = -struct.unpack_from("=i", kernel.recv(4096), 16)[0]
    if failed:
        raise OSError(failed, f"a route to the loopback device: {os.strerror(failed)}")


def _answer(channel: socket.socket, question: bytes) -> None:
    wanted = json.loads(question)
    descriptors: array.array[int] = array.array("i")
    try:
        enter(wanted["process"], "user")
        enter(wanted["process"], "net")
        made = [*listeners(wanted["ports"]), *observers()]
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
