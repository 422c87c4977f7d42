"""Plain messages of HTTP/1.1, read strictly and fast; what is not plain is left to a library.

Plain is what nearly every request and answer of an API is: lines that end in CRLF, a body whose length is
said once, a connection that goes on. Everything that two readers could understand in two ways is not plain.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

END_OF_HEAD = b"\r\n\r\n"
Headers = list[tuple[bytes, bytes]]

_REQUEST = re.compile(rb"(GET|POST|PUT|PATCH|DELETE|OPTIONS) ([\x21-\x7e]+) HTTP/1\.1")
_ANSWER = re.compile(rb"HTTP/1\.1 ([2-5][0-9]{2})(?: [\t\x20-\x7e\x80-\xff]*)?")
_HEADER = re.compile(  # possessive, so that no line takes more time than it is long
    rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]++):[ \t]*+"
    rb"((?:[\x21-\x7e\x80-\xff]++(?:[ \t]++[\x21-\x7e\x80-\xff]++)*+)?+)[ \t]*+"
)
_LENGTH = re.compile(rb"[0-9]{1,9}")
_BODILESS = frozenset({204, 304})
_NOT_PLAIN = frozenset({b"transfer-encoding", b"content-encoding", b"expect", b"upgrade", b"trailer"})
"""Headers that change what follows the head, or how it is read."""


@dataclass(frozen=True, slots=True)
class PlainMessage:
    """The head of a message, and where its body is."""

    headers: Headers
    """With names in lower case."""
    start: int
    size: int

    @property
    def end(self) -> int:
        return self.start + self.size


@dataclass(frozen=True, slots=True)
class PlainRequest(PlainMessage):
    """What a client asks."""

    method: bytes
    target: bytes


@dataclass(frozen=True, slots=True)
class PlainAnswer(PlainMessage):
    """What a server says to it."""

    status: int


def may_be_plain(start: bytes | bytearray) -> bool:
    """Whether the start of a head can become a plain one, so that it is worth waiting for the rest."""
    return not start or (start[0] > 0x20 and start.count(b"\n") == start.count(b"\r\n"))


def read_request(head: bytes) -> PlainRequest | None:
    """Return the request whose head, without the empty line, this is; None where it is not plain."""
    first, *lines = head.split(b"\r\n")
    line = _REQUEST.fullmatch(first)
    headers = None if line is None else _headers(lines)
    if line is None or headers is None or sum(name == b"host" for name, _ in headers) != 1:
        return None
    size = _size(headers)
    return None if size is None else PlainRequest(headers, _body_start(head), max(size, 0), line[1], line[2])


def read_answer(head: bytes) -> PlainAnswer | None:
    """Return the answer to a plain request; None where it is not plain, or says no length."""
    first, *lines = head.split(b"\r\n")
    line = _ANSWER.fullmatch(first)
    headers = None if line is None else _headers(lines)
    if line is None or headers is None or int(line[1]) in _BODILESS:
        return None
    size = _size(headers)
    return None if size is None or size < 0 else PlainAnswer(headers, _body_start(head), size, int(line[1]))


def write_request(method: bytes, target: bytes, headers: Headers, body: bytes) -> bytes:
    """Return a request with its body."""
    return b"".join((method, b" ", target, b" HTTP/1.1\r\n", *_lines(headers), b"\r\n", body))


def write_answer(status: int, headers: Headers, body: bytes) -> bytes:
    """Return an answer with its body."""
    return b"".join((b"HTTP/1.1 %d \r\n" % status, *_lines(headers), b"\r\n", body))


def _body_start(head: bytes) -> int:
    return len(head) + len(END_OF_HEAD)


def _lines(headers: Headers) -> Iterable[bytes]:
    return (b"%b: %b\r\n" % header for header in headers)


def _headers(lines: list[bytes]) -> Headers | None:
    headers = []
    for line in lines:
        found = _HEADER.fullmatch(line)
        if found is None:
            return None
        headers.append((found[1].lower(), found[2]))
    return headers


def _size(headers: Headers) -> int | None:
    """How long the body is, -1 where nothing says so; None where it is not said plainly."""
    size = -1
    for name, value in headers:
        if name == b"content-length":
            if size >= 0 or not _LENGTH.fullmatch(value):
                return None
            size = int(value)
        elif name in _NOT_PLAIN or (name == b"connection" and value.lower() != b"keep-alive"):
            return None
    return size
