"""HTTP between a script and a host that gets a secret: the value is put in, and masked on its way back."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import h11

from skillkit.core.hosts import HTTPS
from skillkit.scripts.network.plain_http import (
    END_OF_HEAD,
    Headers,
    PlainAnswer,
    PlainRequest,
    may_be_plain,
    read_answer,
    read_request,
    write_answer,
    write_request,
)
from skillkit.scripts.network.relay import Allowance
from skillkit.scripts.network.secrets import BrokeredSecret
from skillkit.scripts.network.tls_end import ByteStream

_CHUNK = 1 << 16
_MAX_HEAD = 64 << 10
_DROPPED = (b"accept-encoding", b"expect")
_FRAMING = (b"content-length", b"transfer-encoding")
Plain = TypeVar("Plain", PlainRequest, PlainAnswer)


class RefusedUseError(OSError):
    """A secret, or the connection, is used in a way that was not granted."""


class Mask:
    """Replaces values by placeholders in what comes back, wherever the pieces are cut."""

    def __init__(self, pairs: Iterable[tuple[bytes, bytes]]) -> None:
        self._pairs = [(value, placeholder) for value, placeholder in pairs if value]
        self._kept = b""
        self._held = max((len(value) for value, _ in self._pairs), default=1) - 1

    def whole(self, data: bytes) -> bytes:
        """Return all of `data`, masked."""
        for value, placeholder in self._pairs:
            data = data.replace(value, placeholder)
        return data

    def feed(self, data: bytes) -> bytes:
        """Return what can be passed on already."""
        data = self.whole(self._kept + data)
        end = max(0, len(data) - self._held)
        self._kept = data[end:]
        return data[:end]

    def rest(self) -> bytes:
        """Return what was held back."""
        rest, self._kept = self._kept, b""
        return rest


class SecretBroker:
    """One connection of a script to one host, request by request, in HTTP/1.1.

    An exchange of which both messages are plain passes in one piece each way; every other is read and written
    by h11, which takes ten times as long and knows all of the protocol.
    """

    def __init__(
        self,
        inside: ByteStream,
        outside: ByteStream,
        host: tuple[str, int],
        secrets: list[BrokeredSecret],
        allowance: Allowance,
    ) -> None:
        self._inside, self._outside = inside, outside
        name, port = host
        self._hosts = [f"{name}:{port}".encode(), *([name.encode()] if port == HTTPS else [])]
        self._secrets = secrets
        self._allowance = allowance
        self._waiting = {True: bytearray(), False: bytearray()}
        """What is to be sent, to the script (True) and to the host: head and body go out together."""
        self._from_script, self._from_host = bytearray(), bytearray()
        """What was received and belongs to no finished exchange."""
        self._unanswered: bytes | None = None
        """The method of a request to which nothing was said yet."""
        self.sent = self.received = 0

    def run(self, refuse: Callable[[str], None]) -> None:
        """Serve until either side is done; `refuse` is told what was not allowed."""
        try:
            while self._exchange():
                continue
        except RefusedUseError as error:
            refuse(str(error))
            self._answer_refused(str(error))
        except h11.RemoteProtocolError as error:
            refuse(f"not plain HTTP/1.1: {error}")
        except h11.LocalProtocolError:
            return  # one side wants no further request

    def _exchange(self) -> bool:
        if self._from_host:  # to which request it would be an answer, nobody can know
            raise h11.RemoteProtocolError("the server says more than it was asked")
        request = self._read_plain(self._inside, self._from_script, read_request)
        if request is None:
            return self._exchange_any()
        self._unanswered = request.method
        headers, mask = self._granted(request.method, request.target, request.headers)
        body = bytes(self._from_script[request.start : request.end])
        self._put_out(write_request(request.method, request.target, headers, body))
        self._flush()
        answer = self._read_plain(self._outside, self._from_host, read_answer)
        if answer is None:
            return self._exchange_any(is_sent=True)
        body = bytes(self._from_host[answer.start : answer.end])
        self._put(_masked_answer(answer.status, answer.headers, body, mask), to_script=True)
        self._unanswered = None
        self._flush()
        del self._from_script[: request.end], self._from_host[: answer.end]
        return True

    def _read_plain(
        self, stream: ByteStream, unread: bytearray, read: Callable[[bytes], Plain | None]
    ) -> Plain | None:
        """Wait for a plain message with its body; None as soon as what comes is no such thing.

        All of it stays unread, for who else may have to make sense of it.
        """
        message: Plain | None = None
        while message is None or len(unread) < message.end:
            if message is None and (end := unread.find(END_OF_HEAD)) >= 0:
                message = read(bytes(unread[:end]))
                if message is None or message.size > _CHUNK:
                    return None
                continue
            if message is None and (len(unread) > _MAX_HEAD or not may_be_plain(unread)):
                return None
            if not (received := self._receive(stream)):
                return None
            unread += received
        return message

    def _exchange_any(self, *, is_sent: bool = False) -> bool:
        """One exchange by way of h11; with `is_sent` the host has got the request already."""
        script = h11.Connection(h11.SERVER, max_incomplete_event_size=_MAX_HEAD)
        server = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_HEAD)
        for connection, unread in ((script, self._from_script), (server, self._from_host)):
            if unread:  # nothing would mean that the connection has ended
                connection.receive_data(bytes(unread))
                unread.clear()
        request = self._next(script, self._inside)
        if not isinstance(request, h11.Request):
            return False
        self._unanswered = request.method
        headers, mask = self._granted(request.method, request.target, list(request.headers))
        asked = h11.Request(method=request.method, target=request.target, headers=headers)
        self._send(server, asked, is_sent=is_sent)
        if script.they_are_waiting_for_100_continue:
            waiting = h11.InformationalResponse(status_code=100, headers=[])
            self._reply(script, waiting)
        while isinstance(event := self._next(script, self._inside), h11.Data):
            self._send(server, h11.Data(data=bytes(event.data)), is_sent=is_sent)
        self._send(server, h11.EndOfMessage(), is_sent=is_sent)
        self._pass_answer(script, server, mask, is_head=request.method == b"HEAD")
        self._flush()
        self._from_script += script.trailing_data[0]
        unasked, is_closed = server.trailing_data
        self._from_host += unasked
        states = (script.our_state, script.their_state, server.our_state, server.their_state)
        return not is_closed and all(state is h11.DONE for state in states)

    def _pass_answer(
        self, script: h11.Connection, server: h11.Connection, mask: Mask, *, is_head: bool
    ) -> None:
        answer = self._next(server, self._outside)
        while isinstance(answer, h11.InformationalResponse):
            answer = self._next(server, self._outside)
        if not isinstance(answer, h11.Response):
            raise h11.RemoteProtocolError("the server ended the connection")
        if any(name == b"content-encoding" and value != b"identity" for name, value in answer.headers):
            raise RefusedUseError("the answer is compressed, so the secret could not be masked in it")
        self._unanswered = None
        headers = [(name, mask.whole(value)) for name, value in answer.headers if name not in _FRAMING]
        size = next((int(value) for name, value in answer.headers if name == b"content-length"), None)
        bodiless = is_head or answer.status_code in (204, 304)
        if size is None or size > _CHUNK or bodiless:
            kept = [(b"content-length", b"%d" % size)] if size is not None and bodiless else []
            self._reply(script, h11.Response(status_code=answer.status_code, headers=[*headers, *kept]))
            for data in self._bodies(server):
                if ready := mask.feed(data):
                    self._reply(script, h11.Data(data=ready))
            body = mask.rest()
        else:  # what is short is masked as a whole, and has a length again
            body = mask.whole(b"".join(self._bodies(server)))
            headers.append((b"content-length", b"%d" % len(body)))
            self._reply(script, h11.Response(status_code=answer.status_code, headers=headers))
        if body:
            self._reply(script, h11.Data(data=body))
        self._reply(script, h11.EndOfMessage())

    def _bodies(self, server: h11.Connection) -> Iterator[bytes]:
        while isinstance(event := self._next(server, self._outside), h11.Data):
            yield bytes(event.data)

    def _granted(self, method: bytes, target: bytes, asked: Headers) -> tuple[Headers, Mask]:
        """The headers of a request as they go out, and what is to be masked in its answer."""
        hosts = [value for name, value in asked if name == b"host"]
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            raise RefusedUseError("another host is named inside of the connection")
        if method == b"CONNECT" or any(name == b"upgrade" for name, _ in asked):
            raise RefusedUseError("other protocols than HTTP/1.1 do not go through where a secret is put in")
        if {name for name, _ in asked}.issuperset(_FRAMING):
            raise RefusedUseError("the end of the request is told in two ways")
        pairs = [(secret.value, secret.placeholder) for secret in self._secrets]
        headers = []
        for name, given in asked:
            value = given
            for secret in self._secrets:
                if name == secret.header.lower().encode():
                    value = secret.put_into(value)
            if value != given:
                pairs += [(value, given), (value.partition(b" ")[2], given.partition(b" ")[2])]
            headers.append((name, value))
        self._check_elsewhere(target, headers)
        headers = [(name, value) for name, value in headers if name not in _DROPPED]
        headers.append((b"accept-encoding", b"identity"))
        return headers, Mask(pairs)

    def _check_elsewhere(self, target: bytes, headers: list[tuple[bytes, bytes]]) -> None:
        for secret in self._secrets:
            if secret.placeholder in target or any(secret.placeholder in value for _, value in headers):
                raise RefusedUseError(
                    f"the secret {secret.name} goes into the header {secret.header} and nowhere else"
                )

    def _answer_refused(self, reason: str) -> None:
        if self._unanswered is None:
            return
        body = f"skillkit: {reason}\n".encode()
        headers = [
            (b"content-length", b"%d" % len(body)),
            (b"content-type", b"text/plain"),
            (b"connection", b"close"),
        ]
        shown = b"" if self._unanswered == b"HEAD" else body
        self._put(write_answer(403, headers, shown), to_script=True)
        self._flush()

    def _next(self, connection: h11.Connection, stream: ByteStream) -> object:
        while (event := connection.next_event()) is h11.NEED_DATA:
            self._flush()  # the other side may wait for it before it goes on
            connection.receive_data(self._receive(stream))
        return event

    def _receive(self, stream: ByteStream) -> bytes:
        received = stream.recv(_CHUNK)
        if stream is self._outside:
            self.received += len(received)
            if not self._allowance.spend("received", len(received)):
                raise RefusedUseError("more data than a run may receive")
        return received

    def _send(self, connection: h11.Connection, event: h11.Event, *, is_sent: bool) -> None:
        data = connection.send(event) or b""
        if not is_sent:
            self._put_out(data)

    def _put_out(self, data: bytes) -> None:
        self.sent += len(data)
        if not self._allowance.spend("sent", len(data)):
            raise RefusedUseError("more data than a run may send")
        self._put(data, to_script=False)

    def _reply(self, connection: h11.Connection, event: h11.Event) -> None:
        self._put(connection.send(event) or b"", to_script=True)

    def _put(self, data: bytes, *, to_script: bool) -> None:
        waiting = self._waiting[to_script]
        waiting += data
        if len(waiting) >= _CHUNK:
            self._flush()

    def _flush(self) -> None:
        for to_script, waiting in self._waiting.items():
            if waiting:
                (self._inside if to_script else self._outside).sendall(bytes(waiting))
                waiting.clear()


def _masked_answer(status: int, headers: Headers, body: bytes, mask: Mask) -> bytes:
    """A short answer, masked as a whole; its length may be another then."""
    shown = mask.whole(body)
    kept = [(name, mask.whole(value)) for name, value in headers if name not in _FRAMING]
    return write_answer(status, [*kept, (b"content-length", b"%d" % len(shown))], shown)
