"""Name resolution: once per name, refusing addresses inside our own network."""

import errno
import ipaddress
import os
import select
import socket
from collections.abc import Callable

_MAX_TRIED = 4
_POLL = 0.05
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_NOT_PUBLIC = tuple(
    map(
        ipaddress.ip_network,
        (
            "192.0.0.0/24",  # protocol assignments; metadata of a cloud at 192.0.0.192
            "192.88.99.0/24",  # former 6to4 relays
            "168.63.129.16/32",  # metadata of a cloud
            "fec0::/10",  # site-local, deprecated and still routed inside
            "64:ff9b:1::/48",  # local NAT64
            "3fff::/20",  # documentation
            "5f00::/16",  # segment routing
        ),
    )
)
"""Networks that `is_global` accepts in some release of Python."""
OFF_LIMITS: set[str] = set()
"""Addresses that no script of this process reaches, whatever it is granted."""
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class RefusedAddressError(OSError):
    """A name leads to an address that a script may not reach."""


def resolve(name: str, port: int, *, private: bool) -> list[tuple[str, int]]:
    """Return the addresses of `name`, at most four; RefusedAddressError if none of them may be reached."""
    found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    allowed = [address for address in addresses if address not in OFF_LIMITS]
    public = [address for address in allowed if private or is_public(address)]
    if not public:
        raise RefusedAddressError(f"it is at {addresses[0]}, an address inside this network")
    return [(address, port) for address in public[:_MAX_TRIED]]


def connect_to(addresses: list[tuple[str, int]], check: Callable[[], object]) -> socket.socket:
    """Connect to the first of exactly these addresses; `check` is called meanwhile and may raise."""
    failed: OSError = OSError("it has no address")
    for address in addresses:
        connection = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET)
        try:
            connection.setblocking(False)
            code = connection.connect_ex(address)
            while code == errno.EINPROGRESS:
                check()
                if select.select([], [connection], [], _POLL)[1]:
                    code = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if code == 0:
                connection.setblocking(True)
                return connection
            failed = OSError(code, os.strerror(code))
        except OSError as error:
            failed = error
        connection.close()
    raise failed


def is_public(text: str) -> bool:
    """Whether an address is out in the internet and not our own."""
    address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address) and address in _NAT64:
        return is_public(str(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)))
    return all(map(_is_outside, (address, *_embedded(address)))) and not _is_own(text)


def _is_outside(address: _Address) -> bool:
    return (
        address.is_global
        and not address.is_multicast
        and not address.is_reserved
        and not address.is_unspecified
        and not address.is_link_local
        and not any(address in network for network in _NOT_PUBLIC)
    )


def _embedded(address: _Address) -> list[_Address]:
    """Return the IPv4 addresses embedded in an IPv6 one."""
    if isinstance(address, ipaddress.IPv4Address):
        return []
    found: list[_Address | None] = [address.ipv4_mapped, address.sixtofour]
    found += address.teredo or ()
    return [inner for inner in found if inner is not None]


def _is_own(text: str) -> bool:
    """Only an address of this machine can be bound."""
    family = socket.AF_INET6 if ":" in text else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((text, 0))
        except OSError:
            return False
    return True
