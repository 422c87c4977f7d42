"""Getting a file over https: encrypted, bounded in size and time, redirects only to what is as safe."""

import ipaddress
import time
import urllib.error
import urllib.request
from http.client import HTTPException, HTTPMessage
from typing import IO
from urllib.parse import urlsplit

from skillkit.core.text import escape_hidden
from skillkit.install.exceptions import NetworkError, NotThereError, SourceError
from skillkit.install.sources.source import LOOPBACK, Access, check_address

MAX_DOWNLOAD = 50 * 1024 * 1024
_CHUNK = 64 * 1024


class _CarefulRedirects(urllib.request.HTTPRedirectHandler):
    """Follow a redirect to an encrypted address; from outside never to this machine or its network."""

    max_redirections = 5

    def redirect_request(  # noqa: PLR0917 - the base class has them so
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        check_address(newurl)
        before, after = urlsplit(req.full_url).hostname or "", urlsplit(newurl).hostname or ""
        if before not in LOOPBACK and _is_inside(after):
            raise SourceError(f"'{escape_hidden(before)}' leads to an address inside: {escape_hidden(after)}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _is_inside(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host in LOOPBACK or host.endswith((".localhost", ".internal"))
    return not address.is_global


def download(url: str, access: Access, *, limit: int = MAX_DOWNLOAD) -> bytes:
    """Return the bytes at `url`. Raises NotThereError for 404 and 410, NetworkError for other trouble."""
    shown = escape_hidden(url)
    access.progress(f"Fetching {url}")
    deadline = time.monotonic() + access.timeout
    opener = urllib.request.build_opener(_CarefulRedirects)
    request = urllib.request.Request(check_address(url), headers={"User-Agent": "skillkit"})
    try:
        with opener.open(request, timeout=min(30.0, access.timeout)) as answer:
            return _read(answer, shown, limit, deadline, access)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in (404, 410):
            raise NotThereError(f"{shown} is not there ({error.code})") from error
        raise NetworkError(f"{shown} answered {error.code}") from error
    except (urllib.error.URLError, HTTPException, TimeoutError, OSError) as error:
        reason = getattr(error, "reason", error)
        raise NetworkError(f"{shown} cannot be reached: {escape_hidden(str(reason))}") from error


def _read(answer: IO[bytes], shown: str, limit: int, deadline: float, access: Access) -> bytes:
    chunks, size = [], 0
    while chunk := answer.read(_CHUNK):
        size += len(chunk)
        if size > limit:
            raise SourceError(f"{shown} is larger than {limit:,} bytes")
        if time.monotonic() > deadline or access.stop.is_set():
            raise NetworkError(f"{shown}: no end after {access.timeout:.0f} seconds")
        chunks.append(chunk)
    return b"".join(chunks)
