"""Download from https addresses, for every kind of source.

An address that the user typed may be anywhere. One that a remote document names, be it an index, a
marketplace or a redirect, must be public, or on the host and port of the document itself. Bytes, time and
redirects are bounded. The only credential is the token that the user has set for exactly this server.
"""

import http.client
import re
import socket
import time
import urllib.error
import urllib.request
from http.client import HTTPException
from threading import Event, Thread
from typing import Any
from urllib.parse import urljoin, urlsplit

from skillkit.core.exceptions import SkillsUseError
from skillkit.core.hosts import HTTP, HTTPS
from skillkit.core.limits import DOWNLOAD_BYTES, REDIRECTS
from skillkit.core.text import escape_hidden, one_line
from skillkit.core.threads import in_time
from skillkit.install.exceptions import NetworkError, NotThereError, SourceError
from skillkit.install.sources.source import LOOPBACK, Access, check_address
from skillkit.scripts.network.addresses import RefusedAddressError, connect_to, is_public, resolve
from skillkit.scripts.secret_store import SecretStore

_CHUNK = 64 * 1024
_SILENCE = 30.0
"""Seconds without a byte after which a server is given up."""
_POLL = 0.05
_SAID = 500
"""Bytes of an error that are shown."""
_MOVED = frozenset({301, 302, 303, 307, 308})
_PORTS = {"https": HTTPS, "http": HTTP, "ssh": 22}
_HOST = re.compile(r"[a-z0-9]+(-+[a-z0-9]+)*(\.[a-z0-9]+(-+[a-z0-9]+)*)*")


def check_named(url: str, document: str) -> None:
    """Raise SourceError unless `url`, which the document at `document` names, may be asked.

    For addresses that another program will open; `download` checks those that it opens itself.
    """
    host, port = _place(url)
    if _place(document) == (host, port) and host:
        return
    try:
        if urlsplit(url).scheme not in _PORTS:
            raise RefusedAddressError("it is on this machine")
        resolve(host, port, private=False)
    except (RefusedAddressError, ValueError) as error:
        raise _refused(host or url, document) from error
    except OSError as error:
        raise NetworkError(f"Cannot resolve '{escape_hidden(host)}': {error}") from error


def download(url: str, access: Access, *, limit: int = DOWNLOAD_BYTES, named_by: str = "") -> bytes:
    """Return the bytes at `url`, which the document at `named_by` names, if any.

    Raises NotThereError for 404 and 410, NetworkError for other trouble.
    """
    access.progress(f"Fetching {url}")
    deadline = time.monotonic() + access.timeout
    for _ in range(REDIRECTS + 1):
        with _Exchange(check_address(url), named_by, access, deadline) as exchange:
            answer = exchange.ask(limit)
        if isinstance(answer, bytes):
            return answer
        url, named_by = urljoin(url, answer), url
    raise SourceError(f"{escape_hidden(url)}: more than {REDIRECTS} redirects")


def find_redirect(url: str, access: Access) -> str | None:
    """Return the redirect target of `url`; None if there is no redirect."""
    with _Exchange(check_address(url), "", access, time.monotonic() + access.timeout) as exchange:
        answer = exchange.ask(DOWNLOAD_BYTES)
    return None if isinstance(answer, bytes) else urljoin(url, answer)


def same_host(url: str, other: str) -> bool:
    """Return whether two addresses are on one host and port, in the same protocol."""
    return _place(url) == _place(other) and urlsplit(url).scheme == urlsplit(other).scheme


def token_name(url: str) -> str:
    """Return the name of the secret for the server at `url`; empty for one that has none.

    No two servers have the same: a dot is one underscore, a hyphen two, and a port follows a capital P.
    """
    host, port = _place(url)
    if not _HOST.fullmatch(host):
        return ""
    name = "REGISTRY_" + host.replace("-", "__").replace(".", "_")
    return name if port == _PORTS.get(urlsplit(url).scheme, 0) else f"{name}_P{port}"


def registry_token(url: str) -> str | None:
    """Return the user's token for the server at `url`, if one is set."""
    name = token_name(url)
    try:
        return SecretStore().value(name) if name else None
    except SkillsUseError:
        return None


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """Returns a redirect as the response, so that a token is sent to one server only."""

    def redirect_request(self, *_: Any) -> None:
        return None


class _Exchange:
    """One request and its response, aborted from another thread on timeout."""

    def __init__(self, url: str, named_by: str, access: Access, deadline: float) -> None:
        self._url, self._named_by = url, named_by
        self._access, self._deadline = access, deadline
        self._shown = escape_hidden(url)
        self._host = _place(url)
        self._done = Event()
        self._connections: list[socket.socket] = []

    def __enter__(self) -> "_Exchange":
        Thread(target=self._watch, name="skillkit-download", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        for each in self._connections:
            each.close()

    def ask(self, limit: int) -> bytes | str:
        """Return the bytes, or the redirect target."""
        opener = urllib.request.build_opener(NoRedirects, _Opener(self))
        headers = {"User-Agent": "skillkit"}
        own = not self._named_by or self._host == _place(self._named_by)
        if own and (token := registry_token(self._url)):
            headers["Authorization"] = f"Bearer {token}"
        request = urllib.request.Request(self._url, headers=headers)
        try:
            with opener.open(request, timeout=min(_SILENCE, self._access.timeout)) as answer:
                return self._read(answer, limit)
        except urllib.error.HTTPError as error:
            said = error.read(_SAID).decode("utf-8", "replace") if error.code == 410 else ""
            error.close()
            if error.code in _MOVED and (place := error.headers.get("Location")):
                return str(place)
            if error.code in (404, 410):
                why = f": {one_line(said)}" if said else ""
                raise NotThereError(f"{self._shown} was not found ({error.code}){why}") from error
            if error.code in (401, 403) and (name := token_name(self._url)):
                raise NetworkError(
                    f"{self._shown} returned {error.code}. If it needs a token: agent secret set {name}"
                ) from error
            raise NetworkError(f"{self._shown} returned {error.code}") from error
        except (urllib.error.URLError, HTTPException, OSError) as error:
            self.check()
            reason = getattr(error, "reason", error)
            if isinstance(reason, RefusedAddressError):
                raise _refused(self._host[0], self._named_by) from error
            raise NetworkError(f"{self._shown} cannot be reached: {escape_hidden(str(reason))}") from error

    def connect(self, address: tuple[str, int], *_: object) -> socket.socket:
        """Connect to the server, or to the proxy that the user has set."""
        host, port = address
        if self._named_by and self._host != _place(self._named_by):
            if address != self._host and _is_inside(self._host[0]):  # a proxy resolves names itself
                raise RefusedAddressError(f"{self._host[0]} is inside")
            private = address != self._host
        else:
            private = True
        found = in_time(lambda: resolve(host, port, private=private), self.check)
        connection = connect_to(found, self.check)
        connection.settimeout(_SILENCE)
        self._connections.append(connection.dup())  # TLS takes the other one over
        return connection

    def check(self) -> None:
        """Raise NetworkError after a timeout or cancellation."""
        if time.monotonic() > self._deadline or self._access.stop.is_set():
            raise NetworkError(f"{self._shown}: timed out after {self._access.timeout:.0f} seconds")

    def _watch(self) -> None:
        while not self._done.wait(_POLL):
            if time.monotonic() > self._deadline or self._access.stop.is_set():
                for each in self._connections:
                    try:
                        each.shutdown(socket.SHUT_RDWR)
                    except OSError:
                        continue
                return

    def _read(self, answer: Any, limit: int) -> bytes:
        chunks, size = [], 0
        while chunk := answer.read1(_CHUNK):
            size += len(chunk)
            if size > limit:
                raise SourceError(f"{self._shown} is larger than {limit:,} bytes")
            chunks.append(chunk)
        self.check()
        if answer.length:
            raise NetworkError(f"{self._shown} ended before the download was complete")
        return b"".join(chunks)


class _Opener(urllib.request.HTTPSHandler, urllib.request.HTTPHandler):
    """http and https over connections that an exchange makes."""

    def __init__(self, exchange: _Exchange) -> None:
        super().__init__()
        self._exchange = exchange

    def http_open(self, req: urllib.request.Request) -> Any:
        return self._open(http.client.HTTPConnection, req)

    def https_open(self, req: urllib.request.Request) -> Any:
        return self._open(http.client.HTTPSConnection, req)

    def _open(self, kind: type[http.client.HTTPConnection], req: urllib.request.Request) -> Any:
        def make(host: str, **options: Any) -> http.client.HTTPConnection:
            connection = kind(host, **options)
            connection._create_connection = self._exchange.connect  # type: ignore[attr-defined]
            return connection

        return self.do_open(make, req)


def _place(url: str) -> tuple[str, int]:
    """Return host and port of an address; an empty host if it is invalid."""
    try:
        parts = urlsplit(url)
        return (parts.hostname or "").lower(), parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return "", 0


def _is_inside(host: str) -> bool:
    """Return whether an unresolved host clearly belongs to this network."""
    try:
        return not is_public(host)
    except ValueError:
        return host in LOOPBACK or host.endswith((".localhost", ".internal", ".local")) or "." not in host


def _refused(host: str, document: str) -> SourceError:
    by = escape_hidden(_place(document)[0] or document)
    return SourceError(f"'{by}' leads to an address inside this network: {escape_hidden(host)}")
