"""The parts of the gateway that read what a script or a header wrote."""

import contextlib
import random
import struct

import pytest

from skillkit.core.hosts import HostRule, granted_rules, is_request
from skillkit.scripts.network.addresses import is_public
from skillkit.scripts.network.client_hello import NotTlsError, read_server_name
from skillkit.scripts.network.names import NameTable


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
    ],
)
def test_addresses_inside_a_network_are_not_public(address):
    assert not is_public(address)


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
