"""The gateway of one run: accepts the script's connections and relays them to granted hosts."""

import contextlib
import errno
import os
import selectors
import socket
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from secrets import token_hex
from threading import Event, Lock, Thread

from skillkit.core.hosts import HTTP, HTTPS, HostRule
from skillkit.core.threads import in_time
from skillkit.scripts.network.addresses import RefusedAddressError, connect_to, resolve
from skillkit.scripts.network.attempts import Attempt, AttemptLog
from skillkit.scripts.network.client_hello import UNRECOGNISED_NAME, NotTlsError, read_server_name
from skillkit.scripts.network.names import NameTable
from skillkit.scripts.network.namespaces import make_sockets
from skillkit.scripts.network.relay import Allowance, relay
from skillkit.scripts.network.run_authority import RunAuthority
from skillkit.scripts.network.secrets import BrokeredSecret, Secret
from skillkit.scripts.network.tls_end import ServerEnd, open_client_end

NOT_GRANTED = "not granted"
NO_DATAGRAMS = "no datagrams are granted"
_AT_ONCE = 32
_IN_ALL = 1000
_SENT, _RECEIVED = 64 << 20, 512 << 20
_CONNECT_SECONDS = 10.0
_CLOSE_SECONDS = 2.0
_DATAGRAM = 4096
_PACKET = 256
_PORTS = struct.Struct("!HH")
_FILES = {
    "/etc/resolv.conf": b"nameserver 127.0.0.1\noptions timeout:2 attempts:1\n",
    "/etc/hosts": b"127.0.0.1 localhost\n",
    "/etc/nsswitch.conf": b"hosts: files dns\n",
}


class Gateway:
    """Serves one sandbox from `attach` to `close`; nothing of it runs inside.

    Towards hosts that a secret goes to it ends TLS, so that it can put the value in.
    """

    def __init__(self, rules: tuple[HostRule, ...], secrets: Sequence[Secret] = ()) -> None:
        self._secrets = [
            (BrokeredSecret(each.name, each.header, each.value.encode(), _placeholder(each.name)), each)
            for each in secrets
        ]
        self._authority = RunAuthority() if secrets else None
        named = {(rule.name, rule.port, rule.wildcard) for rule in rules}
        wanted = (HostRule.parse(host) for each in secrets for host in each.hosts)
        rules += tuple(rule for rule in wanted if (rule.name, rule.port, rule.wildcard) not in named)
        own = {} if self._authority is None else self._authority.files
        self.files: Mapping[str, bytes] = {**_FILES, **own}
        """Files that replace this machine's network settings in the sandbox."""
        told = {} if self._authority is None else self._authority.environment
        self.environment = {**told, **{each.name: each.placeholder.decode() for each, _ in self._secrets}}
        """Environment of the script: placeholders of secrets, and the certificate authority."""
        self._rules = rules
        self._log = AttemptLog()
        self._names = NameTable(rules, lambda name: self._log.refuse(name, None, NOT_GRANTED))
        self._allowance = Allowance(_SENT, _RECEIVED)
        self._lock = Lock()
        self._open: set[socket.socket] = set()
        self._accepted = 0
        self._closed = False
        self._ports: set[int] = set()
        self._sockets: list[socket.socket] = []
        self._threads: list[Thread] = []
        self._wake: tuple[int, int] | None = None
        self._ended = Event()

    def attach(self, process: int) -> None:
        """Listen in the network namespace of `process` and serve what comes."""
        # Also at web ports without a grant, so that refusals there are reported.
        self._ports = {rule.port for rule in self._rules} | {HTTP, HTTPS}
        self._sockets = make_sockets(process, sorted(self._ports))
        self._wake = os.pipe()
        self._start(self._serve)

    def close(self) -> tuple[Attempt, ...]:
        """Close every connection, also pending ones, and return the attempts."""
        self._ended.set()
        with self._lock:
            self._closed = True
            threads = list(self._threads)
            for each in self._open:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
        if self._wake is not None:
            os.write(self._wake[1], b"x")
        deadline = time.monotonic() + _CLOSE_SECONDS
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        for each in self._sockets:
            each.close()
        if self._wake is not None:
            os.close(self._wake[0])
            os.close(self._wake[1])
        return tuple(self._log)

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        thread = Thread(target=work, args=arguments, name="skillkit-gateway", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _serve(self) -> None:
        assert self._wake is not None
        with selectors.DefaultSelector() as selector:
            for number, each in enumerate(self._sockets):
                each.setblocking(False)
                work = self._answer_name if number == 0 else self._accept
                serve = self._observe if each.type == socket.SOCK_RAW else work
                selector.register(each, selectors.EVENT_READ, (serve, each))
            selector.register(self._wake[0], selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.data is None:
                        self._observe_rest()
                        return
                    serve, ready = key.data
                    with contextlib.suppress(OSError):
                        serve(ready)

    def _observe(self, observer: socket.socket) -> None:
        """Note what went past the listeners; connections to them are noted where they are served."""
        if (seen := _read_packet(observer)) is None:
            return
        name = self._names.name_at(seen.address)
        served = not seen.datagram and observer.family == socket.AF_INET and seen.port in self._ports
        if served or (name is None and ip_address(seen.address).is_loopback):
            return
        self._log.refuse(name or seen.address, seen.port, NO_DATAGRAMS if seen.datagram else NOT_GRANTED)

    def _observe_rest(self) -> None:
        """Read what the script tried just before it ended."""
        for each in self._sockets:
            if each.type == socket.SOCK_RAW:
                with contextlib.suppress(BlockingIOError):
                    while True:
                        self._observe(each)

    def _answer_name(self, names: socket.socket) -> None:
        question, sender = names.recvfrom(_DATAGRAM)
        if (answer := self._names.answer(question)) is not None:
            names.sendto(answer, sender)

    def _accept(self, listener: socket.socket) -> None:
        inside, _ = listener.accept()
        with self._lock:
            self._accepted += 1
            self._threads = [thread for thread in self._threads if thread.is_alive()]
            # One thread serves the sandbox itself.
            full = self._closed or len(self._threads) > _AT_ONCE or self._accepted > _IN_ALL
        if full:
            inside.close()
            self._log.refuse("(any)", listener.getsockname()[1], "too many connections")
            return
        self._start(self._connection, inside)

    def _connection(self, inside: socket.socket) -> None:
        address, port = inside.getsockname()
        name = self._names.name_at(address)
        rule = self._rule(name, port)
        with self._held(inside):
            if name is None or rule is None:
                self._log.refuse(name or address, port, NOT_GRANTED)
                return
            try:
                self._pass(inside, name, port, rule)
            except (RefusedAddressError, NotTlsError) as error:
                self._log.refuse(name, port, str(error))
            except OSError as error:
                self._log.fail(name, port, f"connection lost: {error.strerror or error}")

    def _rule(self, name: str | None, port: int) -> HostRule | None:
        found = (rule for rule in self._rules if name and rule.port == port and rule.matches(name))
        return next(found, None)

    def _pass(self, inside: socket.socket, name: str, port: int, rule: HostRule) -> None:
        inside.setblocking(True)
        inside.settimeout(_CONNECT_SECONDS)
        first = b""
        secrets = self._secrets_for(name, port)
        if port == HTTPS or secrets:
            asked, first = read_server_name(inside.recv)
            if asked != name:
                inside.sendall(UNRECOGNISED_NAME)
                self._log.refuse(asked or "(no name)", port, f"asked for in a connection to {name}")
                return
        with contextlib.ExitStack() as held:
            try:
                connected = self._connect(name, port, private=rule.private)
                outside = held.enter_context(self._held(connected))
                for each in (inside, outside):
                    each.settimeout(None)
                    each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                verified = held.enter_context(open_client_end(outside, name)) if secrets else None
            except RefusedAddressError:
                raise
            except OSError as error:
                self._log.fail(name, port, f"cannot be reached: {_reason(error)}")
                self._tell_failure(inside, (name, port), first, error, brokered=bool(secrets))
                return
            if verified is None or self._authority is None:
                sent, received = relay(inside, outside, first, self._allowance)
            else:
                from skillkit.scripts.network.secret_broker import SecretBroker

                server = ServerEnd(inside, self._authority.context_for(name), first)
                broker = SecretBroker(server, verified, (name, port), secrets, self._allowance)
                broker.run(lambda reason: self._log.refuse(name, port, reason))
                sent, received = broker.sent, broker.received
        self._log.allow(name, port, sent, received)
        if self._allowance.is_spent():
            self._log.refuse(name, port, "more data than a run may send or receive")

    def _connect(self, name: str, port: int, *, private: bool) -> socket.socket:
        """Connect to exactly the addresses that were checked; `close` ends it at once."""
        deadline = time.monotonic() + _CONNECT_SECONDS
        addresses = in_time(
            lambda: resolve(name, port, private=private),
            lambda: self._check_time(deadline, "its name was not resolved"),
        )
        return connect_to(addresses, lambda: self._check_time(deadline, "it does not answer"))

    def _check_time(self, deadline: float, reason: str) -> None:
        if self._ended.is_set():
            raise TimeoutError(f"{reason} before the run ended")
        if time.monotonic() > deadline:
            raise TimeoutError(f"{reason} within {_CONNECT_SECONDS:.0f} seconds")

    def _tell_failure(
        self, inside: socket.socket, host: tuple[str, int], first: bytes, error: OSError, *, brokered: bool
    ) -> None:
        """Report the refusal to the script: by an HTTP response if possible, else by a connection reset."""
        name, port = host
        status = 504 if isinstance(error, TimeoutError) else 502
        with contextlib.suppress(OSError):
            authority = self._authority if brokered else None
            if authority is not None or port == HTTP:
                from skillkit.scripts.network.secret_broker import answer_once

                end = inside if authority is None else ServerEnd(inside, authority.context_for(name), first)
                answer_once(end, status, f"{name} cannot be reached: {_reason(error)}")
                inside.shutdown(socket.SHUT_WR)
            else:
                inside.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def _secrets_for(self, name: str, port: int) -> list[BrokeredSecret]:
        return [
            brokered
            for brokered, secret in self._secrets
            if any(rule.port == port and rule.matches(name) for rule in map(HostRule.parse, secret.hosts))
        ]

    @contextlib.contextmanager
    def _held(self, connection: socket.socket) -> Iterator[socket.socket]:
        """A connection that `close` can end, also after TLS has taken it over."""
        handle = connection.dup()
        with self._lock:
            self._open.add(handle)
            if self._closed:
                with contextlib.suppress(OSError):
                    handle.shutdown(socket.SHUT_RDWR)
        try:
            yield connection
        finally:
            with self._lock:
                self._open.discard(handle)
            handle.close()
            connection.close()


def _placeholder(name: str) -> bytes:
    return f"skillkit-{name.lower()}-{token_hex(16)}".encode()


def _reason(error: OSError) -> str:
    """Return the reason; a resolver or route that fails for every host means no network."""
    if isinstance(error, socket.gaierror) and error.errno == socket.EAI_AGAIN:
        return "no network: its name could not be resolved"
    if error.errno in (errno.ENETUNREACH, errno.ENETDOWN):
        return "no network"
    return str(error.strerror or error)


@dataclass(frozen=True, slots=True)
class _NetworkProbe:
    """The first packet of a connection, or a datagram."""

    address: str
    port: int
    datagram: bool


def _read_packet(observer: socket.socket) -> _NetworkProbe | None:
    """Return the destination of the next packet, None if invalid; BlockingIOError if there is none."""
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
            return _NetworkProbe(socket.inet_ntop(socket.AF_INET6, address), port, datagram)
        _, port = _PORTS.unpack_from(packet, 4 * (packet[0] & 0xF))
        return _NetworkProbe(socket.inet_ntop(socket.AF_INET, packet[16:20]), port, datagram)
    except (struct.error, IndexError, StopIteration, ValueError, OSError):
        return None
