"""The web application: every request is checked, limited, attributed to a caller, and handed to a dialect."""

import asyncio
import base64
import hmac
import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from skillkit.core.limits import MIB
from skillkit.registry import adk, apm, claude, clawhub, desk, mcp, native, pages, site
from skillkit.registry.access import ANYBODY, Caller
from skillkit.registry.exceptions import (
    ForbiddenError,
    MissingError,
    RegistryServerError,
    RejectedError,
    TooLargeError,
    UnauthorizedError,
)
from skillkit.registry.frame import COOKIE, error_page
from skillkit.registry.server import Ask, Endpoint, Server
from skillkit.web.security import Application, Receive, Scope, Send, answer, with_headers

logger = logging.getLogger(__name__)

SECRET_PATH = "/s/"
THREADS = 8
PUBLISHING_THREADS = 2
"""Checks of uploads take seconds; readers do not wait for them."""


def create_app(server: Server) -> "Gate":
    """Return the application of one server."""
    pool = ThreadPoolExecutor(THREADS, "skillkit-registry")
    publishing = ThreadPoolExecutor(PUBLISHING_THREADS, "skillkit-registry-publishing")
    endpoints: Sequence[Endpoint] = (
        Endpoint("/healthz", _healthy),
        Endpoint("/favicon.ico", _no_icon),
        *site.ENDPOINTS,
        *clawhub.ENDPOINTS,
        *native.ENDPOINTS,
        *apm.ENDPOINTS,
        *claude.ENDPOINTS,
        *adk.ENDPOINTS,
        *mcp.ENDPOINTS,
        *desk.ENDPOINTS,
        *pages.ENDPOINTS,
    )

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await asyncio.get_running_loop().run_in_executor(pool, server.write_counts)
        publishing.shutdown()
        pool.shutdown()
        server.registry.database.close()

    endpoints = [replace(each, refuse=error_page) if each.is_page else each for each in endpoints]
    routes = [
        Route(
            each.path,
            _route(server, publishing if each.limit == "uploads" and not each.is_page else pool, each),
            methods=[each.method],
        )
        for each in endpoints
    ]
    application = Starlette(
        routes=routes, lifespan=lifespan, exception_handlers={404: _missing, 405: _missing}
    )
    return Gate(application, server)


def _healthy(ask: Ask) -> Response:
    ask.registry.database.row("SELECT 1")
    return PlainTextResponse("ok")


def _no_icon(ask: Ask) -> Response:
    """Answer what every browser asks for, or its console shows an error."""
    return Response(status_code=204)


async def _missing(request: Request, error: Exception) -> Response:
    return PlainTextResponse(str(MissingError()), MissingError.status)


class Gate:
    """Reject unknown hosts, and remove a secret path from the address before anything can log it."""

    def __init__(self, application: Application, server: Server) -> None:
        self._application = application
        netloc = urlsplit(server.settings.base_url).netloc
        self._hosts = frozenset({netloc, *server.settings.hosts})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
        if host not in self._hosts and scope["path"] != "/healthz":
            await answer(send, 421, "This host is not served here.")
            return
        secret = ""
        if scope["path"].startswith(SECRET_PATH):
            secret, _, rest = scope["path"].removeprefix(SECRET_PATH).partition("/")
            scope = {**scope, "path": f"/{rest}", "raw_path": f"/{rest}".encode()}
        scope["state"] = {**scope.get("state", {}), "secret": secret}
        await self._application(scope, receive, with_headers(send))


def _route(server: Server, pool: ThreadPoolExecutor, endpoint: Endpoint) -> Callable[[Request], object]:
    async def run(request: Request) -> Response:
        begun = time.monotonic()
        response = await reply(request)
        if server.durations is not None:  # by pattern: an address may hold a secret path
            about = {
                "http.route": endpoint.path,
                "http.request.method": endpoint.method,
                "http.response.status_code": response.status_code,
            }
            server.durations.record(time.monotonic() - begun, about)
        return response

    async def reply(request: Request) -> Response:
        run_in_pool = partial(asyncio.get_running_loop().run_in_executor, pool)
        if not endpoint.max_body:
            return await run_in_pool(_answered, server, endpoint, request)
        # A body is kept in memory only for a caller who may send one and has not sent too many.
        admitted = await run_in_pool(_admitted, server, endpoint, request)
        try:
            body = await _body(request, endpoint.max_body, keep=isinstance(admitted, Ask))
        except TooLargeError as error:
            return endpoint.refuse(admitted, error) if isinstance(admitted, Ask) else admitted
        if isinstance(admitted, Response):
            return admitted
        return await run_in_pool(_handled, endpoint, replace(admitted, body=body))

    return run


async def _body(request: Request, most: int, *, keep: bool) -> bytes:
    received, size = bytearray(), 0
    async for piece in request.stream():
        size += len(piece)
        if size > most:
            raise TooLargeError(f"The request exceeds {most:,} bytes")
        if keep:
            received += piece
    return bytes(received)


def _answered(server: Server, endpoint: Endpoint, request: Request) -> Response:
    admitted = _admitted(server, endpoint, request)
    return _handled(endpoint, admitted) if isinstance(admitted, Ask) else admitted


def _admitted(server: Server, endpoint: Endpoint, request: Request) -> Ask | Response:
    """Return the request with its caller, whose limit it counts against, or the answer that refuses it."""
    query = {name: values[-1] for name, values in parse_qs(request.url.query, keep_blank_values=True).items()}
    secret = request.state.secret
    ask = Ask(
        server,
        ANYBODY,
        request.method,
        request.path_params,
        query,
        request.headers,
        b"",
        f"{SECRET_PATH}{secret}" if secret else "",
    )
    try:
        ask = _attributed(ask, endpoint, request, secret)
        server.limiter.spend(ask.caller, endpoint.limit)
        if endpoint.max_body > MIB:
            ask.known()
        return ask
    except RegistryServerError as error:
        return endpoint.refuse(ask, error)


def _handled(endpoint: Endpoint, ask: Ask) -> Response:
    try:
        if endpoint.is_page and ask.method == "POST":
            _check_form(ask)
        return endpoint.handler(ask)
    except RegistryServerError as error:
        return endpoint.refuse(ask, error)
    except Exception:
        logger.exception("%s %s failed", endpoint.method, endpoint.path)  # the pattern, not the address
        return PlainTextResponse("Internal error", 500)


def _attributed(ask: Ask, endpoint: Endpoint, request: Request, secret: str) -> Ask:
    """Return the request with the caller of its secret path, token, proxy header or cookie."""
    server, settings = ask.server, ask.server.settings
    peer = request.client.host if request.client else ""
    trusted = peer in settings.proxies
    address = (ask.headers.get("x-forwarded-for", "").rpartition(",")[2].strip() or peer) if trusted else peer
    nobody = replace(ANYBODY, address=address)
    found: Caller | None = None
    if secret:
        found = None if endpoint.is_page else server.accounts.caller(secret, in_path=True)
        if found is None:
            server.limiter.spend(nobody, "reads")
            raise MissingError
    elif authorization := ask.headers.get("authorization", ""):
        found = server.accounts.caller(_token(authorization))
        if found is None:
            server.limiter.spend(nobody, "reads")
            raise UnauthorizedError("The token is unknown, expired or revoked")
    elif endpoint.is_page:
        if trusted and settings.user_header:
            found = server.accounts.user(ask.headers.get(settings.user_header, ""))
        if found is None and (cookie := _cookie(ask.headers.get("cookie", ""))):
            found = server.accounts.caller(cookie)
    return replace(ask, caller=replace(found or nobody, address=address))


def _token(authorization: str) -> str:
    """Return the token of an Authorization header; git and apm may send it as a password."""
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value, validate=True).decode().partition(":")[2]
        except ValueError:
            return ""
    return value.strip() if scheme.lower() == "bearer" else ""


def _cookie(text: str) -> str:
    cookies: SimpleCookie = SimpleCookie()
    try:
        cookies.load(text)
    except CookieError:
        return ""
    morsel = cookies.get(COOKIE)
    return morsel.value if morsel else ""


def _check_form(ask: Ask) -> None:
    """Raise ForbiddenError unless one of our pages, shown to this user, sent the form."""
    base = urlsplit(ask.server.settings.base_url)
    allowed = {f"{base.scheme}://{host}" for host in (base.netloc, *ask.server.settings.hosts)}
    if ask.headers.get("origin", "") not in allowed:
        raise ForbiddenError("The form was sent from another site (Origin)")
    try:
        sent = parse_qs(ask.body.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise RejectedError("The form is not UTF-8") from error
    expected = ask.server.accounts.form_token(ask.caller)
    if not hmac.compare_digest(sent.get("form", [""])[0].encode(), expected.encode()):
        raise ForbiddenError("The form has expired. Reload the page and try again.")
