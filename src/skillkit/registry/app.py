"""The web application: every request is checked, limited, attributed to a caller, and handed to a dialect."""

import asyncio
import hmac
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from skillkit.registry import clawhub, desk, native, pages, site
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
from skillkit.registry.server import Ask, Endpoint, Server, plain_error
from skillkit.web.security import Application, Receive, Scope, Send, answer, with_headers

logger = logging.getLogger(__name__)

SECRET_PATH = "/s/"
THREADS = 8


def create_app(server: Server) -> "Gate":
    """Return the application of one server."""
    pool = ThreadPoolExecutor(THREADS, "skillkit-registry")
    endpoints: Sequence[Endpoint] = (
        Endpoint("/healthz", _healthy),
        *site.ENDPOINTS,
        *clawhub.ENDPOINTS,
        *native.ENDPOINTS,
        *desk.ENDPOINTS,
        *pages.ENDPOINTS,
    )

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await asyncio.get_running_loop().run_in_executor(pool, server.write_counts)
        pool.shutdown()
        server.registry.database.close()

    routes = [Route(each.path, _route(server, pool, each), methods=[each.method]) for each in endpoints]
    application = Starlette(
        routes=routes, lifespan=lifespan, exception_handlers={404: _missing, 405: _missing}
    )
    return Gate(application, server)


def _healthy(ask: Ask) -> Response:
    ask.registry.database.row("SELECT 1")
    return PlainTextResponse("ok")


async def _missing(request: Request, error: Exception) -> Response:
    return plain_error(MissingError())


class Gate:
    """Refuses foreign hosts, and takes a secret path off the address before anything could write it down."""

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
        try:
            body = await _body(request, endpoint.max_body)
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(pool, _answered, server, endpoint, request, body)
        except RegistryServerError as error:
            return plain_error(error)

    return run


async def _body(request: Request, most: int) -> bytes:
    received = bytearray()
    async for piece in request.stream():
        received += piece
        if len(received) > most:
            raise TooLargeError(f"The request has more than {most:,} bytes")
    return bytes(received)


def _answered(server: Server, endpoint: Endpoint, request: Request, body: bytes) -> Response:
    query = {name: values[-1] for name, values in parse_qs(request.url.query, keep_blank_values=True).items()}
    secret = request.state.secret
    ask = Ask(
        server,
        ANYBODY,
        request.method,
        request.path_params,
        query,
        request.headers,
        body,
        f"{SECRET_PATH}{secret}" if secret else "",
    )
    try:
        ask = _attributed(ask, endpoint, request, secret)
        server.limiter.spend(ask.caller, endpoint.limit)
        if endpoint.is_page and ask.method == "POST":
            _check_form(ask)
        return endpoint.handler(ask)
    except RegistryServerError as error:
        return error_page(ask, error) if endpoint.is_page else plain_error(error)
    except Exception:
        logger.exception("%s %s failed", endpoint.method, endpoint.path)  # the pattern, not the address
        return PlainTextResponse("Internal error", 500)


def _attributed(ask: Ask, endpoint: Endpoint, request: Request, secret: str) -> Ask:
    """The request with its caller: of a secret path, a token, a proxy's header or a page's cookie."""
    server, settings = ask.server, ask.server.settings
    peer = request.client.host if request.client else ""
    trusted = peer in settings.proxies
    address = (ask.headers.get("x-forwarded-for", "").rpartition(",")[2].strip() or peer) if trusted else peer
    nobody = replace(ANYBODY, address=address)
    found: Caller | None = None
    cookie = ""
    if secret:
        found = None if endpoint.is_page else server.accounts.caller(secret, in_path=True)
        if found is None:
            server.limiter.spend(nobody, "reads")
            raise MissingError
    elif authorization := ask.headers.get("authorization", ""):
        scheme, _, token = authorization.partition(" ")
        found = server.accounts.caller(token.strip()) if scheme.lower() == "bearer" else None
        if found is None:
            server.limiter.spend(nobody, "reads")
            raise UnauthorizedError("The token is unknown, expired or revoked")
    elif endpoint.is_page:
        if trusted and settings.user_header:
            found = server.accounts.user(ask.headers.get(settings.user_header, ""))
        if found is None and (cookie := _cookie(ask.headers.get("cookie", ""))):
            found = server.accounts.caller(cookie)
    return replace(ask, caller=replace(found or nobody, address=address), cookie=cookie)


def _cookie(text: str) -> str:
    cookies: SimpleCookie = SimpleCookie()
    try:
        cookies.load(text)
    except CookieError:
        return ""
    morsel = cookies.get(COOKIE)
    return morsel.value if morsel else ""


def _check_form(ask: Ask) -> None:
    """Refuse a change that no page of ours, shown to this user, has sent."""
    base = urlsplit(ask.server.settings.base_url)
    allowed = {f"{base.scheme}://{host}" for host in (base.netloc, *ask.server.settings.hosts)}
    if ask.headers.get("origin", "") not in allowed:
        raise ForbiddenError("Another site may not send this form")
    try:
        sent = parse_qs(ask.body.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise RejectedError("The form is not UTF-8") from error
    expected = ask.server.accounts.form_token(ask.caller)
    if not hmac.compare_digest(sent.get("form", [""])[0].encode(), expected.encode()):
        raise ForbiddenError("This was not sent by a page that was shown to you. Open it again.")
