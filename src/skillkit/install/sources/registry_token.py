"""The user's token for a registry: a secret whose name says which server may have it."""

import re
from urllib.parse import urlsplit

from skillkit.core.exceptions import SkillsUseError
from skillkit.core.hosts import HTTP, HTTPS
from skillkit.scripts.secret_store import SecretStore

_HOST = re.compile(r"[a-z0-9]+(-+[a-z0-9]+)*(\.[a-z0-9]+(-+[a-z0-9]+)*)*")
_PORTS = {"https": HTTPS, "http": HTTP}


def token_name(url: str) -> str:
    """The name of the secret for the server at `url`; empty for one that has none.

    No two servers have the same: a dot is one underscore, a hyphen two, and a port follows a capital P.
    """
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        return ""
    if not _HOST.fullmatch(host):
        return ""
    name = "REGISTRY_" + host.replace("-", "__").replace(".", "_")
    return name if port in (None, _PORTS.get(parts.scheme)) else f"{name}_P{port}"


def registry_token(url: str) -> str | None:
    """The token to send to the server at `url`, if the user has set one."""
    name = token_name(url)
    try:
        return SecretStore().value(name) if name else None
    except SkillsUseError:
        return None
