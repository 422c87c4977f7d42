"""What a script tried to reach past the listeners of its gateway: read from packets that go nowhere."""

import socket
import struct
from dataclasses import dataclass

_PACKET = 256
_PORTS = struct.Struct("!HH")


@dataclass(frozen=True, slots=True)
class Observed:
    """The first packet of a connection, or a datagram."""

    address: str
    port: int
    datagram: bool


def read_packet(observer: socket.socket) -> Observed | None:
    """Return what the next packet was for, None for what is none; BlockingIOError when there is no more."""
    packet, ancillary, _, _ = observer.recvmsg(_PACKET, socket.CMSG_SPACE(32))
    datagram = observer.proto == socket.IPPROTO_UDP
    try:
        if observer.family == socket.AF_INET6:
            address = next(
                data[:16]
                for level, kind, data in ancillary
                if (level, kind) == (socket.IPPROTO_IPV6, socket.IPV6_PKTINFO)
            )
            _, port = _PORTS.unpack_from(packet)
            return Observed(socket.inet_ntop(socket.AF_INET6, address), port, datagram)
        _, port = _PORTS.unpack_from(packet, 4 * (packet[0] & 0xF))
        return Observed(socket.inet_ntop(socket.AF_INET, packet[16:20]), port, datagram)
    except (struct.error, IndexError, StopIteration, ValueError, OSError):
        return None
