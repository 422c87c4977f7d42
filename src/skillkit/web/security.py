"""Response headers of our servers: nothing is loaded from elsewhere."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self';"
        " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # with no-referrer our forms would come from the origin "null"
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


async def answer(send: Send, status: int, text: str, more: dict[str, str] | None = None) -> None:
    """Send a whole answer in plain text."""
    headers = {"content-type": "text/plain; charset=utf-8", **HEADERS, **(more or {})}
    await send({"type": "http.response.start", "status": status, "headers": encoded_headers(headers)})
    await send({"type": "http.response.body", "body": text.encode()})


def with_headers(send: Send) -> Send:
    """Return `send` that adds the headers which an answer does not set itself."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name for name, _ in message.get("headers", [])}
            ours = [(name, value) for name, value in encoded_headers(HEADERS) if name not in own]
            message = {**message, "headers": [*message.get("headers", []), *ours]}
        await send(message)

    return sending


def encoded_headers(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1", "ignore")) for name, value in headers.items()]
