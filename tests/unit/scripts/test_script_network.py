"""The parts of the gateway that read what a script or a header wrote."""

import contextlib
import errno
import random
import socket
import struct
from threading import Event, Thread

import pytest

from skillkit.core.hosts import HostRule, granted_rules, is_request
from skillkit.scripts.hints import UNREACHABLE_HOST, find_hint
from skillkit.scripts.models import Outcome, ScriptResult
from skillkit.scripts.network import addresses, gateway
from skillkit.scripts.network.addresses import is_public
from skillkit.scripts.network.client_hello import NotTlsError, read_server_name
from skillkit.scripts.network.names import NameTable
from skillkit.scripts.network.secret_broker import answer_once


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("api.example.com", HostRule("api.example.com")),
        ("API.Example.com.", HostRule("api.example.com")),
        ("*.example.com:8443", HostRule("example.com", 8443, wildcard=True)),
        ("http://example.com", HostRule("example.com", 80)),
        ("https://example.com/", HostRule("example.com")),
        ("internal:8443", HostRule("internal", 8443, private=True)),
    ],
)
def test_hosts_are_read(text, rule):
    assert HostRule.parse(text) == rule
    assert HostRule.parse(str(rule)) == rule


@pytest.mark.parametrize(
    "text",
    [
        *("0x7f000001", "evil.0x7f", "0x", "127.1", "2130706433"),
        *(
            "",
            "*",
            "*.com",
            "*.*.com",
            "a.*.example.com",
            "10.0.0.1",
            "127.0.0.1",
            "2130706433",
            "[::1]",
            "::1",
        ),
        *(
            "a b.com",
            "a.com/path",
            "ftp://a.com",
            "a.com:0",
            "a.com:70000",
            "a.com:http",
            "user@a.com",
            "-a.com",
        ),
        *(
            "\u0430pi.example.com",
            "a..com",
            ".com",
            "a" * 64 + ".com",
            "a." * 130 + "com",
            "a.com#b",
        ),
    ],
)
def test_what_is_no_name_or_too_wide_is_refused(text):
    with pytest.raises(ValueError, match="'"):
        HostRule.parse(text)
    assert not is_request(text)


def test_a_star_is_everything_beneath_and_not_the_name_itself():
    rule = HostRule.parse("*.example.com")
    assert rule.matches("a.example.com")
    assert rule.matches("a.b.example.com")
    for name in ("example.com", "badexample.com", "a.example.com.evil.com", "*.example.com", ".example.com"):
        assert not rule.matches(name)


def test_the_host_of_an_address_in_a_variable_is_granted_wherever_it_is():
    environ = {"URL": "http://127.0.0.1:8080/api", "BAD": "http://[", "OTHER": "https://10.0.0.1/"}
    assert granted_rules(["$URL"], environ) == (HostRule("127.0.0.1", 8080, private=True),)
    assert granted_rules(["$BAD", "$ABSENT", "$OTHER"], environ) == ()


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "100.64.0.1"),
        *(
            "255.255.255.255",
            "224.0.0.1",
            "240.0.0.1",
            "192.0.2.1",
            "198.18.0.1",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
        ),
        *(
            "fe80::1%eth0",
            "ff02::1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "2002:a00:1::",
            "2001:db8::1",
        ),
        *("64:ff9b::a9fe:a9fe", "64:ff9b::7f00:1", "2002:7f00:1::1"),
        *("192.0.0.192", "192.0.0.9", "192.0.0.10", "168.63.129.16", "100.100.100.200"),
        *("fec0::1", "fd00:ec2::254", "64:ff9b:1::1", "::ffff:168.63.129.16", "2002:a83f:8110::1"),
    ],
)
def test_addresses_inside_a_network_are_not_public(address):
    assert not is_public(address)


def test_an_address_of_this_machine_is_not_public(monkeypatch):
    """A server with a public address of its own reached itself by it."""
    own = "8.8.8.8"

    class Probe(socket.socket):
        def bind(self, address):
            if address[0] != own:
                raise OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address")

    monkeypatch.setattr(addresses.socket, "socket", Probe)
    assert not is_public(own)
    assert is_public("1.1.1.1")


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "64:ff9b::808:808"])
def test_addresses_in_the_internet_are(address):
    assert is_public(address)


def question(name: str, kind: int = 1) -> bytes:
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    return struct.pack("!6H", 1, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack("!HH", kind, 1)


def test_granted_names_have_one_address_each_and_others_do_not_exist():
    refused: list[str] = []
    table = NameTable((HostRule("a.test"), HostRule("b.test", wildcard=True)), refused.append)
    first = table.answer(question("A.test"))
    assert first is not None
    assert first[-4:] == bytes((127, 77, 0, 1))
    assert table.name_at("127.77.0.1") == "a.test"
    assert table.answer(question("x.b.test"))[-4:] == bytes((127, 77, 0, 2))
    assert table.answer(question("evil.test"))[3] & 15 == 3
    assert table.answer(question("a.test", 28))[6:8] == b"\0\0"  # it exists, without such an address
    assert refused == ["evil.test"]
    assert table.name_at("127.0.0.1") is None


def test_nothing_that_a_script_sends_raises():
    chance = random.Random(7)
    table = NameTable((HostRule("a.test"),), lambda name: None)
    seeds = [question("a.test"), b"\x16\x03\x01\x00\x30\x01\x00\x00\x2c\x03\x03" + bytes(60)]
    for _ in range(3000):
        data = bytearray(chance.choice(seeds))
        for _ in range(chance.randrange(6)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        sent = bytes(data[: chance.randrange(len(data) + 1)])
        table.answer(sent)
        left = [sent]

        def receive(size: int, left: list[bytes] = left) -> bytes:
            chunk, left[0] = left[0][:size], left[0][size:]
            return chunk

        with contextlib.suppress(NotTlsError):
            read_server_name(receive)


class Run:
    """A gateway that serves one connection of a script, without a sandbox."""

    def __init__(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
            self.script = socket.create_connection(("127.0.0.1", port))
            inside, _ = listener.accept()
        self.script.settimeout(20)
        self.gateway = gateway.Gateway((HostRule("localhost", port, private=True),))
        self.thread = Thread(target=self.gateway._connection, args=(inside,), daemon=True)
        self.gateway._threads.append(self.thread)
        self.thread.start()


def unused_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def test_a_granted_host_that_cannot_be_reached_is_allowed_and_failed(monkeypatch):
    monkeypatch.setattr(gateway, "resolve", lambda *_, private: [("127.0.0.1", unused_port())])
    run = Run()
    with run.script, pytest.raises(ConnectionResetError):
        run.script.recv(1)
    [attempt] = run.gateway.close()
    assert attempt.to_data() == {
        "host": "localhost",
        "port": attempt.port,
        "allowed": True,
        "failed": True,
        "reason": "cannot be reached: Connection refused",
    }
    hint = find_hint(ScriptResult(Outcome.EXITED, "bwrap", 1, network=(attempt,)))
    assert (hint.cause, hint.subject) == (UNREACHABLE_HOST, "")
    assert "grant" not in hint.text


def test_no_network_is_called_that(monkeypatch):
    def resolve(*_, private):
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(gateway, "resolve", resolve)
    run = Run()
    with run.script, contextlib.suppress(ConnectionResetError):
        run.script.recv(1)
    [attempt] = run.gateway.close()
    assert attempt.failed
    assert "no network" in attempt.reason


@pytest.mark.parametrize("method", [b"GET", b"HEAD"])
def test_a_script_that_speaks_http_reads_what_failed(method):
    script, inside = socket.socketpair()
    with script, inside:
        script.sendall(method + b" / HTTP/1.1\r\nHost: api.test\r\n\r\n")
        answer_once(inside, 502, "api.test cannot be reached: no network")
        head, _, body = script.recv(65536).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 502 ")
    assert (b"no network" in body) == (method == b"GET")


def test_closing_ends_a_connection_whose_name_is_being_resolved(monkeypatch):
    """A run limited to 5 s returned after 26 s."""
    asked, never = Event(), Event()

    def resolve(*_, private):
        asked.set()
        never.wait()
        return []

    monkeypatch.setattr(gateway, "resolve", resolve)
    run = Run()
    try:
        assert asked.wait(20)
        [attempt] = run.gateway.close()
        assert not run.thread.is_alive()
        assert attempt.reason == "cannot be reached: its name was not resolved before the run ended"
    finally:
        never.set()
        run.script.close()


def test_closing_ends_a_connection_that_nobody_accepts(monkeypatch):
    asked = Event()
    with contextlib.ExitStack() as stack:
        silent = stack.enter_context(socket.socket())
        silent.bind(("127.0.0.1", 0))
        silent.listen(0)
        for _ in range(4):  # a queue that is full makes the next one wait for ever
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(silent.getsockname())

        def resolve(*_, private):
            asked.set()
            return [silent.getsockname()]

        monkeypatch.setattr(gateway, "resolve", resolve)
        run = Run()
        stack.enter_context(run.script)
        assert asked.wait(20)
        [attempt] = run.gateway.close()
        assert not run.thread.is_alive()
        assert attempt.failed
