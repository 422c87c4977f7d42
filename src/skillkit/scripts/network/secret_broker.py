"""HTTP proxy between a script and a host that gets a secret: inserts the value, masks it in responses.

h11 is the only parser: each message is read as a whole head and written again, so that nothing that two
readers could understand differently passes.
"""

from collections.abc import Callable, Iterable, Iterator

import h11

from skillkit.core.hosts import HTTPS
from skillkit.journal.sensitive import spellings
from skillkit.scripts.network.relay import Allowance
from skillkit.scripts.network.secrets import BrokeredSecret
from skillkit.scripts.network.tls_end import ByteStream

_CHUNK = 1 << 16
_MAX_HEAD = 64 << 10
_DROPPED = (b"accept-encoding", b"expect")
_FRAMING = (b"content-length", b"transfer-encoding")
Headers = list[tuple[bytes, bytes]]


class RefusedUseError(OSError):
    """A secret, or the connection, is used in a way that was not granted."""


class Mask:
    """Replaces values by placeholders in a response, wherever its chunks are cut."""

    def __init__(self, pairs: Iterable[tuple[bytes, bytes]]) -> None:
        spelled = {
            form.encode("latin-1", "replace"): placeholder
            for value, placeholder in pairs
            if value
            for form in spellings(value.decode("latin-1"))
        }
        self._pairs = sorted(spelled.items(), key=lambda pair: -len(pair[0]))
        self._kept = b""
        self._held = max((len(value) for value, _ in self._pairs), default=1) - 1

    def headers(self, headers: Iterable[tuple[bytes, bytes]]) -> Headers:
        """Return headers with masked values; one whose name holds a secret is left out."""
        return [
            (name, self.whole(value))
            for name, value in headers
            if not any(secret.lower() in name.lower() for secret, _ in self._pairs)
        ]

    def whole(self, data: bytes) -> bytes:
        """Return all of `data`, masked."""
        for value, placeholder in self._pairs:
            data = data.replace(value, placeholder)
        return data

    def feed(self, data: bytes) -> bytes:
        """Return the masked data that can be passed on now."""
        data = self.whole(self._kept + data)
        end = max(0, len(data) - self._held)
        self._kept = data[end:]
        return data[:end]

    def rest(self) -> bytes:
        """Return the data that was held back."""
        rest, self._kept = self._kept, b""
        return rest


class SecretBroker:
    """One connection of a script to one host, request by request, in HTTP/1.1."""

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
        self._script = h11.Connection(h11.SERVER, max_incomplete_event_size=_MAX_HEAD)
        self._server = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_HEAD)
        self._waiting = {True: bytearray(), False: bytearray()}
        """Pending output, to the script (True) and to the host: head and body are sent together."""
        self.sent = self.received = 0

    def run(self, refuse: Callable[[str], None]) -> None:
        """Serve until either side is done; `refuse` is called with the reason of a refusal."""
        try:
            while self._exchange():
                self._script.start_next_cycle()
                self._server.start_next_cycle()
        except RefusedUseError as error:
            refuse(str(error))
            self._answer_refused(str(error))
        except h11.RemoteProtocolError as error:
            refuse(f"not plain HTTP/1.1: {error}")
        except h11.LocalProtocolError:
            return  # one side closes the connection

    def _exchange(self) -> bool:
        request = self._next(self._script, self._inside)
        if not isinstance(request, h11.Request):
            return False
        headers, mask = self._granted(request.method, request.target, list(request.headers))
        self._send(h11.Request(method=request.method, target=request.target, headers=headers))
        if self._script.they_are_waiting_for_100_continue:
            self._reply(h11.InformationalResponse(status_code=100, headers=[]))
        while isinstance(event := self._next(self._script, self._inside), h11.Data):
            self._send(h11.Data(data=bytes(event.data)))
        self._send(h11.EndOfMessage())
        self._pass_answer(mask, is_head=request.method == b"HEAD")
        self._flush()
        unasked, is_closed = self._server.trailing_data
        if unasked:  # it belongs to no request
            raise h11.RemoteProtocolError("the server sent data after the response")
        ends = (self._script.our_state, self._script.their_state, self._server.our_state)
        return not is_closed and all(state is h11.DONE for state in (*ends, self._server.their_state))

    def _pass_answer(self, mask: Mask, *, is_head: bool) -> None:
        answer = self._next(self._server, self._outside)
        while isinstance(answer, h11.InformationalResponse):
            answer = self._next(self._server, self._outside)
        if not isinstance(answer, h11.Response):
            raise h11.RemoteProtocolError("the server ended the connection")
        if any(name == b"content-encoding" and value != b"identity" for name, value in answer.headers):
            raise RefusedUseError("the response is compressed, so the secret cannot be masked in it")
        headers = mask.headers(header for header in answer.headers if header[0] not in _FRAMING)
        size = next((int(value) for name, value in answer.headers if name == b"content-length"), None)
        bodiless = is_head or answer.status_code in (204, 304)
        if size is None or size > _CHUNK or bodiless:
            kept = [(b"content-length", b"%d" % size)] if size is not None and bodiless else []
            self._reply(h11.Response(status_code=answer.status_code, headers=[*headers, *kept]))
            for data in self._bodies():
                if ready := mask.feed(data):
                    self._reply(h11.Data(data=ready))
            body = mask.rest()
        else:  # what is short is masked as a whole, and has a length again
            body = mask.whole(b"".join(self._bodies()))
            headers.append((b"content-length", b"%d" % len(body)))
            self._reply(h11.Response(status_code=answer.status_code, headers=headers))
        if body:
            self._reply(h11.Data(data=body))
        self._reply(h11.EndOfMessage())

    def _bodies(self) -> Iterator[bytes]:
        while isinstance(event := self._next(self._server, self._outside), h11.Data):
            yield bytes(event.data)

    def _granted(self, method: bytes, target: bytes, asked: Headers) -> tuple[Headers, Mask]:
        """Return the outgoing headers of a request, and the values to mask in its response."""
        hosts = [value for name, value in asked if name == b"host"]
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            raise RefusedUseError("another host is named in the request than in the connection")
        if not (target.startswith(b"/") or (method, target) == (b"OPTIONS", b"*")) or target[:2] == b"//":
            raise RefusedUseError("the request target must be a path, without a host")
        if method == b"CONNECT" or any(name == b"upgrade" for name, _ in asked):
            raise RefusedUseError("only HTTP/1.1 is supported for hosts with a secret")
        if {name for name, _ in asked}.issuperset(_FRAMING):
            raise RefusedUseError("request has both Content-Length and Transfer-Encoding")
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
        if self._script.our_state is h11.SEND_RESPONSE:
            self._put(short_answer(self._script, 403, reason), to_script=True)
            self._flush()

    def _next(self, connection: h11.Connection, stream: ByteStream) -> object:
        while (event := connection.next_event()) is h11.NEED_DATA:
            self._flush()  # the other side may wait for it
            connection.receive_data(self._receive(stream))
        return event

    def _receive(self, stream: ByteStream) -> bytes:
        received = stream.recv(_CHUNK)
        if stream is self._outside:
            self.received += len(received)
            if not self._allowance.spend("received", len(received)):
                raise RefusedUseError("the run exceeds its limit of received data")
        return received

    def _send(self, event: h11.Event) -> None:
        data = self._server.send(event) or b""
        self.sent += len(data)
        if not self._allowance.spend("sent", len(data)):
            raise RefusedUseError("the run exceeds its limit of sent data")
        self._put(data, to_script=False)

    def _reply(self, event: h11.Event) -> None:
        self._put(self._script.send(event) or b"", to_script=True)

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


def answer_once(inside: ByteStream, status: int, reason: str) -> None:
    """Answer the first request with `status`, for an unreachable host."""
    script = h11.Connection(h11.SERVER, max_incomplete_event_size=_MAX_HEAD)
    try:
        while (event := script.next_event()) is h11.NEED_DATA:
            script.receive_data(inside.recv(_CHUNK))
        if isinstance(event, h11.Request):
            inside.sendall(short_answer(script, status, reason))
    except h11.RemoteProtocolError:
        return


def short_answer(script: h11.Connection, status: int, reason: str) -> bytes:
    """An answer of ours, after which the connection ends."""
    body = f"skillkit: {reason}\n".encode()
    headers = [("content-length", str(len(body))), ("content-type", "text/plain"), ("connection", "close")]
    head = script.send(h11.Response(status_code=status, headers=headers)) or b""
    try:
        return head + (script.send(h11.Data(data=body)) or b"")
    except h11.LocalProtocolError:  # the answer to HEAD has no body
        return head
