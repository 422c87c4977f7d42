"""Decide how much of a text is kept: all only with ENABLE_SENSITIVE_DATA, secrets never."""

import hashlib
import html
import json
import os
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from urllib.parse import quote, quote_plus

from skillkit.core.events import Json
from skillkit.core.foreign_json import parse_json

_TRUE = frozenset({"1", "true", "yes", "on"})
_SECRET_NAME = re.compile("KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL", re.IGNORECASE)
_SHORTEST_SECRET = 8
_SHORTEST_FOLDED = 4
MAX_TEXT = 16 * 1024
"""Characters of one text that are kept; the length beside it is that of the whole."""


def sensitive_data_enabled(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether the user allowed texts of requests, arguments and outputs to be kept."""
    return environ.get("ENABLE_SENSITIVE_DATA", "").strip().lower() in _TRUE


@dataclass(frozen=True, slots=True)
class Secrets:
    """Secret values, each with the name written in its place."""

    values: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, environ: Mapping[str, str] = os.environ) -> "Secrets":
        """Return the values of variables with secret names."""
        found = (
            (value, f"[{name}]")
            for name in environ
            if _SECRET_NAME.search(name) and len(value := environ.get(name, "")) >= _SHORTEST_SECRET
        )
        return cls(tuple(sorted(found, key=lambda each: -len(each[0]))))

    def masked(self, text: str) -> str:
        """Return `text` with secret values replaced by names, however they are escaped."""
        folded = _folded(text)
        needles = [
            (needle, name)
            for value, name in self.values
            for needle in sorted({_folded(spelled) for spelled in spellings(value)}, key=len, reverse=True)
            if len(needle) >= _SHORTEST_FOLDED and needle in folded
        ]
        if needles:
            text = _replaced(text, folded, needles)
        for value, name in self.values:
            if len(_folded(value)) < _SHORTEST_FOLDED:  # hardly anything but backslashes
                text = text.replace(value, name)
        return text

    def json(self, data: object) -> str:
        """Return `data` as one line of JSON without secrets; every log and journal is written by this."""
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), default=str)
        masked = self.masked(text)
        if masked is not text:
            try:
                parse_json(masked)
            except ValueError:  # a secret that looks like JSON, such as one with quotes and commas
                return json.dumps({"masked": len(text)})
        return masked


def spellings(value: str) -> tuple[str, ...]:
    """Return the escaped forms of `value` in texts, URLs, HTML, logs, JSON and nested JSON."""
    as_bytes = value.encode("utf-8", "surrogateescape" if _is_escaped(value) else "surrogatepass")
    plain = {
        value,
        as_bytes.decode("utf-8", "replace"),
        value.encode("utf-8", "replace").decode(),
        repr(as_bytes)[2:-1],
        repr(value)[1:-1],
        quote(as_bytes, safe=""),
        quote(as_bytes),
        quote_plus(as_bytes),
        html.escape(value),
    }
    json_forms = {json.dumps(value, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
    return tuple(plain | json_forms)


def _is_escaped(value: str) -> bool:
    """Return whether all surrogates are escaped non-UTF-8 bytes."""
    return all("\udc80" <= sign <= "\udcff" for sign in value if "\ud800" <= sign <= "\udfff")


def _folded(text: str) -> str:
    """Return a form in which all JSON escapes of one text, however nested, are the same.

    JSON's ASCII form without its backslashes, in lower case: `\\"`, `\\\\\\"` and `"` are one thing, and so
    are `\\u00E4` and `ä`.
    """
    return json.dumps(text)[1:-1].replace("\\", "").lower()


def _replaced(text: str, folded: str, needles: Iterable[tuple[str, str]]) -> str:
    """Return `text` with a name for each place where `folded`, its folded form, has a needle."""
    widths = (1 if " " <= sign <= "~" and sign != "\\" else len(_folded(sign)) for sign in text)
    starts = list(accumulate(widths, initial=0))
    names: dict[int, str] = {}
    hidden = bytearray(len(text))
    for needle, name in needles:
        at = folded.find(needle)
        while at >= 0:
            first = bisect_right(starts, at) - 1
            last = bisect_left(starts, at + len(needle))
            while first and text[first - 1] == "\\":
                first -= 1  # the escape of the first character, without which JSON would be broken
            if not any(hidden[first:last]):
                names[first] = name
            hidden[first:last] = b"\1" * (last - first)
            at = folded.find(needle, at + len(needle))
    return "".join(names.get(at, "" if hidden[at] else sign) for at, sign in enumerate(text))


def redacted(text: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return `text` without the values of variables that hold secrets."""
    return Secrets.of(environ).masked(text)


def described(text: str, environ: Mapping[str, str] = os.environ) -> dict[str, Json]:
    """Return the length and digest of a text, and the text itself if that is allowed.

    The digest is computed without secrets, so that nobody can confirm a guessed secret.
    """
    plain = redacted(text, environ)
    digest = hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    kept: dict[str, Json] = {"length": len(text), "digest": digest}
    if sensitive_data_enabled(environ):
        kept["text"] = plain[:MAX_TEXT]
    return kept
