"""The MCP server over HTTP: without a token on loopback only."""

import hmac
import ipaddress
import re
import secrets
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mcp.server.transport_security import TransportSecuritySettings
from starlette.middleware.cors import CORSMiddleware

from skillkit.core.exceptions import SkillSecurityError
from skillkit.integrations.mcp.server import CLIENT_SCOPE_KEY, SkillServer

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

PATH = "/mcp"
_LOCAL_ORIGIN = re.compile(r"https?://(localhost|127(\.[0-9]{1,3}){3}|\[::1\])(:[0-9]{1,5})?")
"""Pages that this machine serves itself."""


class OriginGuard:
    """Rejects requests for other hosts and from web pages of other origins."""

    def __init__(self, app: "ASGIApp", *, loopback: bool, origins: Collection[str] = ()) -> None:
        self._app = app
        self._loopback = loopback
        self._origins = frozenset(origins)

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        refused = self._refused(_headers(scope)) if scope["type"] == "http" else None
        if refused is not None:
            await _answer(send, *refused)
            return
        await self._app(scope, receive, send)

    def _refused(self, headers: Mapping[str, str]) -> tuple[int, str] | None:
        # Any web page can make a browser send requests here; Origin identifies it.
        origin = headers.get("origin")
        if origin is not None and origin not in self._origins and not _LOCAL_ORIGIN.fullmatch(origin):
            return 403, "Requests from this origin are not allowed"
        try:
            host = urlsplit(f"//{headers.get('host', '')}").hostname
        except ValueError:
            return 400, "Invalid Host header"
        # DNS rebinding: a foreign name that resolves to this host.
        if self._loopback and not _is_local(host):
            return 421, "This server accepts requests to localhost only"
        return None


class TokenGuard:
    """Requires a token if any are set, and records its client."""

    def __init__(self, app: "ASGIApp", tokens: Mapping[str, str]) -> None:
        self._app = app
        self._tokens = {client: token.encode() for client, token in tokens.items()}

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        client = self._client(_headers(scope))
        if self._tokens and client is None:
            await _answer(send, 401, "A token is needed: Authorization: Bearer …")
            return
        await self._app({**scope, CLIENT_SCOPE_KEY: client or ""}, receive, send)

    def _client(self, headers: Mapping[str, str]) -> str | None:
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer":
            return None
        found = None
        for client, token in self._tokens.items():
            if hmac.compare_digest(given.strip().encode(), token):
                found = client
        return found


def http_app(
    server: SkillServer,
    *,
    host: str = "127.0.0.1",
    tokens: Mapping[str, str] | None = None,
    origins: Collection[str] = (),
) -> "ASGIApp":
    """Return the server as an ASGI application. `tokens` are names of clients with their tokens."""
    loopback = is_loopback(host)
    if not loopback and not tokens:
        raise SkillSecurityError(
            f"Skills are not served on {host} without a token: anybody who can reach it could read them. "
            "Set one, or bind to 127.0.0.1"
        )
    weak = [client for client, token in (tokens or {}).items() if len(token) < 16]
    if weak:
        raise SkillSecurityError(
            f"The token of '{weak[0]}' has fewer than 16 characters; take {secrets.token_urlsafe(24)}"
        )
    app = server.server.streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,
        json_response=True,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    # A browser's CORS preflight (OPTIONS) has no token.
    readable = CORSMiddleware(
        TokenGuard(app, tokens or {}),
        allow_origins=list(origins),
        allow_origin_regex=_LOCAL_ORIGIN.pattern,
        allow_methods=["GET", "POST", "DELETE"],
        allow_headers=["*"],
        allow_private_network=True,
        expose_headers=["mcp-session-id", "mcp-protocol-version", "www-authenticate"],
    )
    return OriginGuard(readable, loopback=loopback, origins=origins)


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach `host`."""
    return _is_local(host.strip("[]"))


def _headers(scope: "Scope") -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


def _is_local(host: str | None) -> bool:
    if host is None or host == "localhost":
        return host == "localhost"
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def _answer(send: "Send", status: int, message: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": message.encode()})
