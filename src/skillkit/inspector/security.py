"""Only the user's own browser, only this machine, and nothing that a page of ours could be made to load."""

import hmac
import secrets
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, quote, urlencode

from skillkit.web.security import Application, Receive, Scope, Send, answer, with_headers

COOKIE = "skillkit_inspect"


class LocalUserOnly:
    """Wraps the application: a token in the address becomes a cookie; everything else is refused.

    A page on another site can make the browser send a request here; it can neither know the token nor
    have the cookie sent along (SameSite=Strict), and a name that was made to point at this machine is not
    one of `hosts`.
    """

    def __init__(self, application: Application, port: int, token: str | None = None) -> None:
        self.token = token or secrets.token_urlsafe(32)
        self._application = application
        self._hosts = frozenset({f"127.0.0.1:{port}", f"localhost:{port}"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]
        }
        if headers.get("host", "") not in self._hosts:
            await answer(send, 421, "This page is served to this machine only, as 127.0.0.1 or localhost.")
        elif "origin" in headers and headers["origin"] not in {f"http://{host}" for host in self._hosts}:
            await answer(send, 403, "Requests from other sites are refused.")
        elif (query := parse_qs(scope["query_string"].decode("latin-1"))).get("token") and scope[
            "method"
        ] == "GET":
            await self._exchange(scope, query, send)
        elif not self._has_cookie(headers.get("cookie", "")):
            await answer(
                send,
                403,
                "Open the address that was printed at the start: it carries the token for this page.",
            )
        else:
            await self._application(scope, receive, with_headers(send))

    def form_token(self) -> str:
        """Return the token that forms have to send back."""
        return hmac.new(self.token.encode(), b"form", "sha256").hexdigest()

    def allows_form(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.form_token().encode())

    def _has_cookie(self, text: str) -> bool:
        cookies: SimpleCookie = SimpleCookie()
        try:
            cookies.load(text)
        except CookieError:
            return False
        morsel = cookies.get(COOKIE)
        return morsel is not None and hmac.compare_digest(morsel.value.encode(), self.token.encode())

    async def _exchange(self, scope: Scope, query: dict[str, list[str]], send: Send) -> None:
        if not hmac.compare_digest(query.pop("token")[0].encode(), self.token.encode()):
            await answer(send, 403, "The token in the address is not the one of this run.")
            return
        # A path that begins with two slashes would be another site's address.
        address = (
            "/" + quote(scope["path"].lstrip("/\\")) + (f"?{urlencode(query, doseq=True)}" if query else "")
        )
        cookie = f"{COOKIE}={self.token}; Path=/; HttpOnly; SameSite=Strict"
        await answer(send, 303, "", {"location": address, "set-cookie": cookie})
