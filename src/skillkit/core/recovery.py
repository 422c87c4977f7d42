"""Recovery of broken headers."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from skillkit.core.exceptions import (
    InvalidFrontmatterError,
    InvalidYAMLError,
    RefusedYAMLError,
    SkillParsingError,
)
from skillkit.core.fields import KNOWN
from skillkit.core.header import load
from skillkit.core.simple_header import Field
from skillkit.core.text import has_control

UNREADABLE = object()
"""The value of a field that could not be read: neither null nor text, so that it does not count as absent."""
_MAX_BROKEN = 16
"""Fields that may be left out before the header as a whole counts as broken."""

_TOP_LEVEL = re.compile(r"(?P<key>[A-Za-z][\w-]*):[ \t]+(?P<value>\S.*)")
_KEY = re.compile(r"[A-Za-z][\w-]*:(?=[ \t\r]|$)")
_DOCUMENT = re.compile(r"^(?:\.\.\.|---|%)", re.MULTILINE)
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]+(\S.*)")


def quoted_values(text: str) -> str | None:
    """Return `text` with quotes around top-level values that need them; None if none does."""
    lines = text.split("\n")
    repaired = False
    for number, line in enumerate(lines):
        entry = _TOP_LEVEL.fullmatch(line.rstrip(" \t\r"))
        if entry and _needs_quotes(entry["value"]):
            quoted = entry["value"].replace("'", "''")
            lines[number] = f"{entry['key']}: '{quoted}'"
            repaired = True
    return "\n".join(lines) if repaired else None


def _needs_quotes(value: str) -> bool:
    """Whether a value is meant as text and read as something else by YAML."""
    first = value[0]
    if first in "@`%":
        return True
    if first in "[{":
        # `[Beta] Does this` is text; a list that is never closed may be anything.
        return "] " in value or "} " in value
    return ": " in f"{value} " and first not in "\"'|>&*!#"


def readable_fields(
    text: str, first_line: int, error: SkillParsingError
) -> tuple[list[Field], list[tuple[int, str]]]:
    """Read each field of a broken header by itself; return the fields, and line and message of each problem.

    A field that cannot be read costs nothing but itself. Raises `error` where no description is left, and
    for marks of YAML documents, which nobody writes into a header by mistake.
    """
    if _DOCUMENT.search(text):
        raise error from error.__cause__
    fields: list[Field] = []
    notes: list[tuple[int, str]] = []
    broken = 0
    for found in _top_level_fields(text):
        try:
            fields += load(found.text, first_line + found.number, text_only=KNOWN)
        except RefusedYAMLError:
            raise
        except (InvalidYAMLError, InvalidFrontmatterError) as reason:
            broken += 1
            if broken > _MAX_BROKEN:
                raise error from error.__cause__
            read, message = _as_far_as_readable(found, first_line, reason)
            fields += read
            notes.append((first_line + found.number, message))
    if not any(field.key == "description" and isinstance(field.value, str) for field in fields):
        raise error from error.__cause__
    if not broken:
        notes.append((getattr(error, "line", None) or first_line, f"{error}. Each field is read by itself"))
    return fields, notes


def _as_far_as_readable(
    piece: "_Piece", first_line: int, reason: SkillParsingError
) -> tuple[list[Field], str]:
    if not piece.key:
        return [], f"{reason}. Lines outside a field are ignored"
    meant = _text_as_written(piece.text) if piece.key == "description" else ""
    what = "read as plain text" if meant else "left out, the rest is read"
    field = Field(piece.key, meant or UNREADABLE, first_line + piece.number, False)
    return [field], f"{reason}. '{piece.key}' is {what}"


class _Piece(NamedTuple):
    """Lines of a header that look like one field; `key` is empty if they belong to none."""

    number: int
    key: str
    text: str


def _top_level_fields(text: str) -> Iterator[_Piece]:
    """Split a header at lines that start a field; lines before the first one come without a key."""
    lines = text.split("\n")
    starts = [number for number, line in enumerate(lines) if _KEY.match(line)]
    if any(line.strip() for line in lines[: starts[0] if starts else len(lines)]):
        starts.insert(0, 0)
    for start, end in pairwise([*starts, len(lines)]):
        key = lines[start].partition(":")[0] if _KEY.match(lines[start]) else ""
        yield _Piece(start, key, "\n".join(lines[start:end]))


def _text_as_written(field: str) -> str:
    """Return the text of a field that is not YAML, without the marks at both ends; it may be empty."""
    seen = "".join(" " if has_control(letter) else letter for letter in field.partition(":")[2])
    return " ".join(seen.split()).strip("\"'`[]{}|>- ")


def first_heading(body: str) -> str | None:
    """Return the first heading of a body; without one, its first line of text."""
    first = None
    for line in body.splitlines():
        if (heading := _HEADING.fullmatch(line)) and (title := heading[1].rstrip(" \t#")):
            return title
        if first is None and line.strip():
            first = line.strip()
    return first
