"""What a request is made of, whatever dialect it is in, and what it is answered with."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import JSONResponse, PlainTextResponse, Response

from skillkit.core.foreign_json import parse_json
from skillkit.registry.access import Caller
from skillkit.registry.accounts import Accounts, RateLimiter, RateLimits
from skillkit.registry.exceptions import RegistryServerError, RejectedError, TooManyError, UnauthorizedError
from skillkit.registry.publishing import HOLDS, Publisher
from skillkit.registry.store import Registry, SkillRow

_COUNT_EVERY = 60.0


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """How one server runs."""

    base_url: str
    """The address that clients use, without a path."""
    hosts: frozenset[str] = frozenset()
    """Further values of Host that are answered."""
    hold: tuple[str, ...] = HOLDS
    self_review: bool = False
    limits: RateLimits = field(default_factory=RateLimits)
    user_header: str = ""
    """The header in which a reverse proxy says who the user is; empty for none."""
    proxies: frozenset[str] = frozenset()
    """Addresses of reverse proxies whose headers are believed."""


class Server:
    """A registry with its accounts and settings."""

    def __init__(self, registry: Registry, settings: ServerSettings) -> None:
        self.registry = registry
        self.settings = settings
        self.accounts = Accounts(registry)
        self.publisher = Publisher(registry, settings.hold)
        self.limiter = RateLimiter(settings.limits)
        self._downloads: Counter[int] = Counter()
        self._counted = time.monotonic()
        self._lock = threading.Lock()

    def count_download(self, skill: SkillRow) -> None:
        """Remember a download; they are written together, so that reading stays without a write."""
        with self._lock:
            self._downloads[skill.id] += 1
            due = time.monotonic() - self._counted > _COUNT_EVERY
        if due:
            self.write_counts()

    def write_counts(self) -> None:
        with self._lock:
            counted, self._downloads = self._downloads, Counter()
            self._counted = time.monotonic()
        if counted:
            self.registry.add_downloads(counted)


@dataclass(frozen=True, slots=True)
class Ask:
    """One request, with whoever makes it."""

    server: Server
    caller: Caller
    method: str
    path: Mapping[str, Any]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    prefix: str = ""
    """The secret path that it came by; addresses in the answer have to begin with it."""
    cookie: str = ""

    @property
    def registry(self) -> Registry:
        return self.server.registry

    @property
    def base(self) -> str:
        return self.server.settings.base_url + self.prefix

    def limit(self, most: int = 200, default: int = 25) -> int:
        text = self.query.get("limit", "")
        return min(int(text), most) if text.isdecimal() and len(text) < 6 else default

    def document(self) -> dict[str, Any]:
        """The body as a JSON object. Raises RejectedError."""
        try:
            found = parse_json(self.body)
        except ValueError as error:
            raise RejectedError("The body is not JSON") from error
        if not isinstance(found, dict):
            raise RejectedError("The body is not a JSON object")
        return found

    def text(self, document: Mapping[str, Any], name: str, default: str | None = None) -> str:
        """A field that has to be text. Raises RejectedError."""
        found = document.get(name, default)
        if not isinstance(found, str):
            raise RejectedError(f"'{name}' is not a text")
        return found

    def known(self) -> Caller:
        """Whoever asks, with a token. Raises UnauthorizedError."""
        if self.caller.token is None:
            raise UnauthorizedError("This needs a token: send it as Authorization: Bearer")
        return self.caller


Handler = Callable[[Ask], Response]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address, how much is read of its body, which limit counts, and how errors look."""

    path: str
    handler: Handler
    method: str = "GET"
    max_body: int = 0
    limit: str = "reads"
    is_page: bool = False
    """Signed in by cookie or proxy instead of a token in a header; a change needs Origin and form token."""


def plain_error(error: RegistryServerError) -> Response:
    """An error as clients show it."""
    headers = {}
    if isinstance(error, TooManyError):
        headers["retry-after"] = str(error.seconds)
    if isinstance(error, UnauthorizedError):
        headers["www-authenticate"] = "Bearer"
    return PlainTextResponse(str(error), error.status, headers)


def json_answer(content: object, status: int = 200) -> Response:
    return JSONResponse(content, status)


def archive_answer(ask: Ask, data: bytes, digest: str, media_type: str) -> Response:
    """Bytes that never change; only a cache of the reader's own keeps what others may not read."""
    shared = "private" if ask.caller.grants or ask.prefix else "public"
    headers = {"etag": f'"{digest}"', "cache-control": f"{shared}, max-age=3600"}
    if ask.headers.get("if-none-match") == headers["etag"]:
        return Response(status_code=304, headers=headers)
    return Response(data, media_type=media_type, headers=headers)
