"""HTTP client of a gateway, authenticated by one key."""

import os
import ssl
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from skillkit.core.exceptions import ConfigurationError
from skillkit.core.foreign_json import parse_json
from skillkit.fleet.cluster import FleetError

CA_SETTING = "SKILLKIT_FLEET_CA"
_CONNECT = 5.0


class UnreachableError(FleetError, code="unreachable"):
    """The gateway did not respond; `sent` says whether it may have received the request."""

    def __init__(self, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.sent = sent


class RefusedError(FleetError, code="refused"):
    """The gateway responded with an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class GatewayClient:
    """Keeps connections to one gateway; may be shared by threads."""

    def __init__(self, url: str, token: str, ca: Path | None = None) -> None:
        check_url(url)
        self.url = url.rstrip("/")
        given = ca or os.environ.get(CA_SETTING)
        try:
            trust = ssl.create_default_context(cafile=given) if url.startswith("https") else False
        except OSError as error:
            raise ConfigurationError(f"Cannot read the certificate {given}: {error}", CA_SETTING) from error
        self._http = httpx.Client(
            base_url=self.url,
            verify=trust,
            headers={"Authorization": f"Bearer {token}"},
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=64),
            trust_env=False,
        )

    def ask(
        self, method: str, path: str, body: bytes = b"", *, seconds: float = 10.0, **query: Any
    ) -> dict[str, Any]:
        """Return the JSON body of a response; raises UnreachableError or RefusedError."""
        timeout = httpx.Timeout(seconds, connect=min(seconds, _CONNECT))
        try:
            answer = self._http.request(method, path, content=body, params=query, timeout=timeout)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            reason = str(error) or "no answer"
            raise UnreachableError(f"No gateway at {self.url}: {reason}", sent=False) from error
        except httpx.HTTPError as error:
            reason = str(error) or type(error).__name__
            raise UnreachableError(
                f"The gateway at {self.url} did not answer: {reason}", sent=True
            ) from error
        if answer.is_error:
            raise RefusedError(answer.status_code, answer.text[:1000].strip())
        return dict(parse_json(answer.content)) if answer.content else {}

    def close(self) -> None:
        """Close the kept connections."""
        self._http.close()


def check_url(url: str) -> None:
    """Raise ConfigurationError unless `url` is `https://HOST:PORT`, or `http://` on this machine."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/"):
        raise ConfigurationError(
            f"'{url}' is not a gateway's address: expected https://HOST:PORT", "SKILLKIT_RUNNER"
        )
    if parts.scheme == "http" and parts.hostname not in ("127.0.0.1", "::1", "localhost"):
        raise ConfigurationError(f"{url} would send keys in clear: use https://", "SKILLKIT_RUNNER")
