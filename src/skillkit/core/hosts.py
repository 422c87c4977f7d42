"""Hosts by name, as a skill asks for them and a user grants them."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

HTTP, HTTPS = 80, 443
ANY_HOST = "*"
"""Every public host at the ports of the web; nobody can ask for it or grant it by name."""
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_VARIABLE = re.compile(r"\$[A-Za-z_][A-Za-z0-9_]*")
_LOOPBACK = re.compile(r"127(?:\.\d{1,3}){3}")
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*")
"""The last part of what resolvers read as an address: 127.1, 2130706433, 0x7f000001."""
_MAX_NAME = 253


@dataclass(frozen=True, slots=True)
class HostRule:
    """One name, or everything beneath one, at one port."""

    name: str
    """In lower case; for `*.example.com` it is `example.com`."""
    port: int = HTTPS
    wildcard: bool = False
    private: bool = False
    """May be an address inside this network: the user named it so, or it has no dot."""

    def __str__(self) -> str:
        shown = f"*.{self.name}" if self.wildcard else self.name
        return shown if self.port == HTTPS else f"{shown}:{self.port}"

    def matches(self, name: str) -> bool:
        """Whether this rule grants `name`, which may be anything."""
        if not self.wildcard:
            return name == self.name
        beneath = not self.name or name.endswith(f".{self.name}")
        return beneath and all(map(_LABEL.fullmatch, name.split(".")))

    @classmethod
    def parse(cls, text: str, *, private: bool = False) -> "HostRule":
        """Read `api.example.com`, `*.example.com`, `db.example.com:5432` or `http://example.com`.

        Without a port it is 443. ValueError says what is wrong. Addresses are no names; with `private`
        one of this machine (127.0.0.1) is taken all the same.
        """
        scheme, found, rest = text.strip().lower().partition("://")
        if not found:
            scheme, rest = "https", scheme
        name, colon, port_text = rest.removesuffix("/").partition(":")
        name = name.removesuffix(".")
        wildcard = name.startswith("*.")
        name = name.removeprefix("*.")
        labels = name.split(".")
        if scheme not in ("http", "https") or not all(map(_LABEL.fullmatch, labels)) or len(name) > _MAX_NAME:
            raise ValueError(f"'{text}' is not a host name")
        if _NUMBER.fullmatch(labels[-1]) and not (private and _LOOPBACK.fullmatch(name)):
            raise ValueError(f"'{text}' is an IP address; grant hosts by name")
        if wildcard and len(labels) < 2:
            raise ValueError(f"'{text}' is too wide; a wildcard needs at least two labels after it")
        if colon and not (port_text.isdigit() and 0 < int(port_text) < 65536):
            raise ValueError(f"'{text}' has no valid port")
        port = int(port_text) if colon else HTTP if scheme == "http" else HTTPS
        return cls(name, port, wildcard, private or len(labels) == 1)


def is_request(text: str) -> bool:
    """Whether a header may ask for it: a host, or `$NAME` for the host of the address in a variable."""
    if _VARIABLE.fullmatch(text):
        return True
    try:
        HostRule.parse(text)
    except ValueError:
        return False
    return True


def granted_rules(hosts: Iterable[str], environ: Mapping[str, str]) -> tuple[HostRule, ...]:
    """Return the rules of granted hosts; `$NAME` is the host of an address that the user has set."""
    rules: dict[HostRule, None] = {}
    for text in hosts:
        if not text.startswith("$"):
            rules[HostRule.parse(text)] = None
            continue
        try:
            address = urlsplit(environ.get(text[1:], ""))
            port = address.port or (HTTP if address.scheme == "http" else HTTPS)
            rules[HostRule.parse(f"{address.hostname or ''}:{port}", private=True)] = None
        except ValueError:
            continue
    return tuple(rules)
