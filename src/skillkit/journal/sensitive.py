"""What of a text may be kept: all of it only with ENABLE_SENSITIVE_DATA, a secret never."""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping

from skillkit.core.events import Json

_TRUE = frozenset({"1", "true", "yes", "on"})
_SECRET_NAME = re.compile("KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_SHORTEST_SECRET = 8
MAX_TEXT = 16 * 1024
"""Characters of one text that are kept; the length beside it is that of the whole."""


def sensitive_data_enabled(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether the user allowed texts of requests, arguments and outputs to be kept."""
    return environ.get("ENABLE_SENSITIVE_DATA", "").strip().lower() in _TRUE


def secrets_in(environ: Mapping[str, str] = os.environ) -> tuple[tuple[str, str], ...]:
    """Return the values of secret variables, as they are and as JSON spells them, each with its name."""
    return tuple(
        (spelled, f"[{name}]")
        for name in environ
        if _SECRET_NAME.search(name) and len(value := environ.get(name, "")) >= _SHORTEST_SECRET
        for spelled in {value, json.dumps(value)[1:-1]}
    )


def redacted(text: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return `text` without the values of variables that hold secrets."""
    return without(text, secrets_in(environ))


def without(text: str, secrets: Iterable[tuple[str, str]]) -> str:
    """Return `text` with each secret's name in the place of its value."""
    for value, name in secrets:
        text = text.replace(value, name)
    return text


def described(text: str, environ: Mapping[str, str] = os.environ) -> dict[str, Json]:
    """Return what may be kept of a text: its length and digest, and itself where that is allowed.

    The digest is made of the text without secrets, so that nobody can confirm a guess at one.
    """
    plain = redacted(text, environ)
    digest = hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    kept: dict[str, Json] = {"length": len(text), "digest": digest}
    if sensitive_data_enabled(environ):
        kept["text"] = plain[:MAX_TEXT]
    return kept
