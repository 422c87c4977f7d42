"""HTTP between a script and a host that gets a secret: the value is put in, and masked on its way back."""

from collections.abc import Callable, Iterable, Iterator

import h11

from skillkit.core.hosts import HTTPS
from skillkit.scripts.network.relay import Allowance
from skillkit.scripts.network.secrets import BrokeredSecret
from skillkit.scripts.network.tls_end import ByteStream

_CHUNK = 1 << 16
_MAX_HEAD = 64 << 10


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
        self._waiting = {True: bytearray(), False: bytearray()}
        """What is to be sent, to the script (True) and to the host: head and body go out together."""
        self.sent = self.received = 0

    def run(self, refuse: Callable[[str], None]) -> None:
        """Serve until either side is done; `refuse` is told what was not allowed."""
        script = h11.Connection(h11.SERVER, max_incomplete_event_size=_MAX_HEAD)
        server = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_HEAD)
        try:
            while self._exchange(script, server):
                script.start_next_cycle()
                server.start_next_cycle()
        except RefusedUseError as error:
            refuse(str(error))
            self._answer_refused(script, str(error))
        except h11.RemoteProtocolError as error:
            refuse(f"not plain HTTP/1.1: {error}")
        except h11.LocalProtocolError:
            return  # one side wants no further request

    def _exchange(self, script: h11.Connection, server: h11.Connection) -> bool:
        request = self._next(script, self._inside)
        if not isinstance(request, h11.Request):
            return False
        asked, mask = self._granted(request)
        self._send(server, asked)
        if script.they_are_waiting_for_100_continue:
            waiting = h11.InformationalResponse(status_code=100, headers=[])
            self._reply(script, waiting)
        while isinstance(event := self._next(script, self._inside), h11.Data):
            self._send(server, h11.Data(data=bytes(event.data)))
        self._send(server, h11.EndOfMessage())
        self._pass_answer(script, server, mask, is_head=request.method == b"HEAD")
        self._flush()
        return script.our_state is h11.DONE and server.our_state is h11.DONE

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
        framing = (b"content-length", b"transfer-encoding")
        headers = [(name, mask.whole(value)) for name, value in answer.headers if name not in framing]
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

    def _granted(self, request: h11.Request) -> tuple[h11.Request, Mask]:
        """The request as it goes out, and what is to be masked in its answer."""
        hosts = [value for name, value in request.headers if name == b"host"]
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            raise RefusedUseError("another host is named inside of the connection")
        if request.method == b"CONNECT" or any(name == b"upgrade" for name, _ in request.headers):
            raise RefusedUseError("other protocols than HTTP/1.1 do not go through where a secret is put in")
        pairs = [(secret.value, secret.placeholder) for secret in self._secrets]
        headers = []
        for name, given in request.headers:
            value = given
            for secret in self._secrets:
                if name == secret.header.lower().encode():
                    value = secret.put_into(value)
            if value != given:
                pairs += [(value, given), (value.partition(b" ")[2], given.partition(b" ")[2])]
            headers.append((name, value))
        self._check_elsewhere(request.target, headers)
        dropped = (b"accept-encoding", b"expect")
        headers = [(name, value) for name, value in headers if name not in dropped]
        headers.append((b"accept-encoding", b"identity"))
        return h11.Request(method=request.method, target=request.target, headers=headers), Mask(pairs)

    def _check_elsewhere(self, target: bytes, headers: list[tuple[bytes, bytes]]) -> None:
        for secret in self._secrets:
            if secret.placeholder in target or any(secret.placeholder in value for _, value in headers):
                raise RefusedUseError(
                    f"the secret {secret.name} goes into the header {secret.header} and nowhere else"
                )

    def _answer_refused(self, script: h11.Connection, reason: str) -> None:
        if script.our_state is not h11.SEND_RESPONSE:
            return
        body = f"skillkit: {reason}\n".encode()
        headers = [
            ("content-length", str(len(body))),
            ("content-type", "text/plain"),
            ("connection", "close"),
        ]
        self._reply(script, h11.Response(status_code=403, headers=headers))
        self._reply(script, h11.Data(data=body))
        self._reply(script, h11.EndOfMessage())
        self._flush()

    def _next(self, connection: h11.Connection, stream: ByteStream) -> object:
        while (event := connection.next_event()) is h11.NEED_DATA:
            self._flush()  # the other side may wait for it before it goes on
            received = stream.recv(_CHUNK)
            if stream is self._outside:
                self.received += len(received)
                if not self._allowance.spend("received", len(received)):
                    raise RefusedUseError("more data than a run may receive")
            connection.receive_data(received)
        return event

    def _send(self, connection: h11.Connection, event: h11.Event) -> None:
        data = connection.send(event) or b""
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
