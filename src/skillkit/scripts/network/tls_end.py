"""The ends of TLS connections that the gateway reads itself."""

import socket
import ssl
from collections.abc import Callable
from functools import lru_cache
from typing import Protocol, TypeVar

_CHUNK = 1 << 16
T = TypeVar("T")


class ByteStream(Protocol):
    """A connection whose bytes can be read."""

    def recv(self, size: int, /) -> bytes: ...

    def sendall(self, data: bytes, /) -> None: ...


class ServerEnd:
    """The server's end of a connection whose first bytes were read already."""

    def __init__(self, connection: socket.socket, context: ssl.SSLContext, first: bytes) -> None:
        self._connection = connection
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._incoming.write(first)
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._step(self._tls.do_handshake)

    def recv(self, size: int, /) -> bytes:
        try:
            if not (self._incoming.pending or self._tls.pending()):
                self._feed()  # to try in vain first would cost an exception
            return self._step(lambda: self._tls.read(size))
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return b""

    def sendall(self, data: bytes, /) -> None:
        if data:
            self._step(lambda: self._tls.write(data))

    def _step(self, action: Callable[[], T]) -> T:
        while True:
            try:
                result = action()
            except ssl.SSLWantReadError:
                self._flush()
                self._feed()
                continue
            self._flush()
            return result

    def _feed(self) -> None:
        if received := self._connection.recv(_CHUNK):
            self._incoming.write(received)
        else:
            self._incoming.write_eof()

    def _flush(self) -> None:
        if self._outgoing.pending:
            self._connection.sendall(self._outgoing.read())


def open_client_end(connection: socket.socket, name: str) -> ssl.SSLSocket:
    """Begin TLS with the real server and verify that it is `name`."""
    places = ssl.get_default_verify_paths()
    return _verifying_context((places.cafile, places.capath)).wrap_socket(connection, server_hostname=name)


@lru_cache(maxsize=4)
def _verifying_context(authorities: tuple[str | None, str | None]) -> ssl.SSLContext:
    """Made once for each place of authorities, where the library finds them by itself: it is costly."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
