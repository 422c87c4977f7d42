"""Requests and responses, as every dialect has them."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import JSONResponse, PlainTextResponse, Response

from skillkit.core.foreign_json import parse_json
from skillkit.registry.access import Caller, Purpose, State
from skillkit.registry.accounts import Accounts, RateLimiter, RateLimits
from skillkit.registry.exceptions import RegistryServerError, RejectedError, TooManyError, UnauthorizedError
from skillkit.registry.publishing import HOLDS, Publisher
from skillkit.registry.repository import GitCache
from skillkit.registry.store import Registry, SkillRow, as_json

_COUNT_EVERY = 60.0
_ARCHIVES = {"tar": "application/gzip", "zip": "application/zip"}


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Settings of one server."""

    base_url: str
    """The URL that clients use, without a path."""
    hosts: frozenset[str] = frozenset()
    """Further accepted values of Host."""
    hold: tuple[str, ...] = HOLDS
    self_review: bool = False
    limits: RateLimits = field(default_factory=RateLimits)
    user_header: str = ""
    """The header in which a reverse proxy names the user; empty for none."""
    proxies: frozenset[str] = frozenset()
    """Addresses of trusted reverse proxies."""


class Server:
    """A registry with its accounts and settings."""

    def __init__(self, registry: Registry, settings: ServerSettings) -> None:
        self.registry = registry
        self.settings = settings
        with registry.database.writing():  # for commands that run beside it
            registry.keep_setting("private", "yes" if registry.visibility.private else "no")
            registry.keep_setting("hold", ",".join(settings.hold) or "none")
        self.accounts = Accounts(registry)
        self.publisher = Publisher(registry, settings.hold)
        self.limiter = RateLimiter(settings.limits)
        self.git = GitCache()
        self.durations = _durations()
        self._downloads: Counter[int] = Counter()
        self._counted = time.monotonic()
        self._lock = threading.Lock()

    def count_download(self, skill: SkillRow) -> None:
        """Count a download in memory; counts are written once a minute."""
        with self._lock:
            self._downloads[skill.id] += 1
            due = time.monotonic() - self._counted > _COUNT_EVERY
        if due:
            self.write_counts()

    def write_counts(self) -> None:
        self.accounts.remove_expired_tickets()
        with self._lock:
            counted, self._downloads = self._downloads, Counter()
            self._counted = time.monotonic()
        if counted:
            self.registry.add_downloads(counted)


def _durations() -> Any:
    """Return the OpenTelemetry histogram of requests, None if it is not installed."""
    try:
        from opentelemetry.metrics import get_meter
    except ImportError:
        return None
    about = "Duration of requests to the skill registry"
    return get_meter("skillkit.registry").create_histogram("http.server.request.duration", "s", about)


@dataclass(frozen=True, slots=True)
class Ask:
    """One request and its caller."""

    server: Server
    caller: Caller
    method: str
    path: Mapping[str, Any]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    prefix: str = ""
    """Its secret path; URLs in the answer begin with it."""

    @property
    def registry(self) -> Registry:
        return self.server.registry

    @property
    def base(self) -> str:
        return self.server.settings.base_url + self.prefix

    def limit(self, most: int = 200, default: int = 25) -> int:
        text = self.query.get("limit", "")
        return min(max(int(text), 1), most) if text.isdecimal() and len(text) < 6 else default

    def document(self) -> dict[str, Any]:
        """Return the body as a JSON object. Raises RejectedError."""
        try:
            found = parse_json(self.body, parse_constant=_refuse_constant)
            as_json(found).encode()  # a lone surrogate fits into no database and into no answer
        except ValueError as error:
            raise RejectedError("The body is not JSON") from error
        if not isinstance(found, dict):
            raise RejectedError("The body is not a JSON object")
        return found

    def text(self, document: Mapping[str, Any], name: str, default: str | None = None) -> str:
        """Return a string field. Raises RejectedError."""
        found = document.get(name, default)
        if not isinstance(found, str):
            raise RejectedError(f"'{name}' is not a string")
        return found

    def known(self) -> Caller:
        """Return the caller, who must have a token. Raises UnauthorizedError."""
        if self.caller.token is None:
            raise UnauthorizedError("This needs a token: send it as Authorization: Bearer, or as a password")
        return self.caller


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


Handler = Callable[[Ask], Response]


def plain_error(ask: Ask, error: RegistryServerError) -> Response:
    """Return an error as plain text, which clients show."""
    headers = {}
    if isinstance(error, TooManyError):
        headers["retry-after"] = str(error.seconds)
    if isinstance(error, UnauthorizedError):
        headers["www-authenticate"] = 'Bearer, Basic realm="skill registry"'
    return PlainTextResponse(str(error), error.status, headers)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A route with its body limit, rate limit and error format."""

    path: str
    handler: Handler
    method: str = "GET"
    max_body: int = 0
    limit: str = "reads"
    is_page: bool = False
    """Signed in by cookie or proxy instead of a token in a header; a change needs Origin and form token."""
    refuse: Callable[[Ask, RegistryServerError], Response] = plain_error
    """Format of errors, except on pages."""


def json_answer(content: object, status: int = 200) -> Response:
    return JSONResponse(content, status)


def send_archive(ask: Ask, owner: str, skill: str, number: str, form: str = "zip") -> Response:
    """Return the archive of a version and count the download.

    A cache may keep it, a shared one what anybody may read, and asks each time: it may be blocked by now.
    """
    found = ask.registry.skill(ask.caller, skill, owner, Purpose.FETCH)
    version = ask.registry.version(ask.caller, found, number, Purpose.FETCH)
    blob = version.tar if form == "tar" else version.zip
    shared = "private" if ask.caller.grants or ask.prefix else "public"
    headers = {"etag": f'"{blob}"', "cache-control": f"{shared}, no-cache"}
    if ask.headers.get("if-none-match") == headers["etag"]:
        return Response(status_code=304, headers=headers)
    if version.state is not State.HELD:
        ask.server.count_download(found)
    return Response(ask.registry.blobs.get(blob), media_type=_ARCHIVES[form], headers=headers)
