"""The server name in the first message of a TLS client, read without a library: it may be anything."""

import struct
from collections.abc import Callable

MAX_HELLO = 16 << 10
_HANDSHAKE, _CLIENT_HELLO, _SERVER_NAME, _HOST_NAME = 22, 1, 0, 0
UNRECOGNISED_NAME = bytes((21, 3, 3, 0, 2, 2, 112))
"""The TLS alert `unrecognized_name`."""


class NotTlsError(ValueError):
    """The data does not start a TLS connection."""


def read_server_name(receive: Callable[[int], bytes]) -> tuple[str, bytes]:
    """Return the server name in lower case (empty if there is none) and all bytes that were read.

    The message may be cut into records of any size.
    """
    read = b""

    def exactly(size: int) -> bytes:
        nonlocal read
        wanted = b""
        while len(wanted) < size:
            if len(read) > MAX_HELLO:
                raise NotTlsError("the first message is too long")
            chunk = receive(size - len(wanted))
            if not chunk:
                raise NotTlsError("the connection closed within the first message")
            wanted += chunk
            read += chunk
        return wanted

    message = b""
    length = None
    while length is None or len(message) < length + 4:
        kind, major, _, size = struct.unpack("!BBBH", exactly(5))
        if kind != _HANDSHAKE or major != 3 or not 0 < size <= MAX_HELLO:
            raise NotTlsError("not a TLS connection")
        message += exactly(size)
        if length is None and len(message) >= 4:
            if message[0] != _CLIENT_HELLO:
                raise NotTlsError("TLS connection without a ClientHello")
            length = int.from_bytes(message[1:4], "big")
            if length > MAX_HELLO:
                raise NotTlsError("the first message is too long")
    try:
        return _server_name(message[4 : 4 + length]), read
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise NotTlsError("the ClientHello is malformed") from error


def _server_name(hello: bytes) -> str:
    position = 34  # version and random
    position += 1 + hello[position]
    position += 2 + struct.unpack_from("!H", hello, position)[0]
    position += 1 + hello[position]
    if position == len(hello):
        return ""
    end = position + 2 + struct.unpack_from("!H", hello, position)[0]
    position += 2
    if end > len(hello):
        raise IndexError(end)
    names = []
    while position < end:
        kind, size = struct.unpack_from("!HH", hello, position)
        body = hello[position + 4 : position + 4 + size]
        position += 4 + size
        if kind == _SERVER_NAME:
            entry, length = struct.unpack_from("!BH", body, 2)
            if entry != _HOST_NAME or len(body) != 5 + length:
                raise IndexError(length)
            names.append(body[5:].decode("ascii").lower().removesuffix("."))
    if len(names) > 1:
        raise IndexError(len(names))
    return names[0] if names else ""
