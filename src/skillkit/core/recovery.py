"""What a broken header was meant to say."""

import re
from collections.abc import Iterator
from itertools import pairwise

_TOP_LEVEL = re.compile(r"(?P<key>[A-Za-z][\w-]*):[ \t]+(?P<value>\S.*)")
_KEY = re.compile(r"[A-Za-z][\w-]*:(?=[ \t\r]|$)")
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]+(\S.*)")


def quoted_values(text: str) -> str | None:
    """`text` with quotes around top-level values that need them; None if there is nothing to mend."""
    lines = text.split("\n")
    mended = False
    for number, line in enumerate(lines):
        entry = _TOP_LEVEL.fullmatch(line.rstrip(" \t\r"))
        if entry and _needs_quotes(entry["value"]):
            quoted = entry["value"].replace("'", "''")
            lines[number] = f"{entry['key']}: '{quoted}'"
            mended = True
    return "\n".join(lines) if mended else None


def _needs_quotes(value: str) -> bool:
    """Whether a value is text to whoever wrote it and something else to YAML."""
    first = value[0]
    if first in "@`%":
        return True
    if first in "[{":
        # `[Beta] Does this` is text; a list that is never closed may be anything.
        return "] " in value or "} " in value
    return ": " in f"{value} " and first not in "\"'|>&*!#"


def top_level_fields(text: str) -> Iterator[tuple[int, str, str]]:
    """Number of the first line, key and text of each field, as far as lines tell."""
    lines = text.split("\n")
    starts = [number for number, line in enumerate(lines) if _KEY.match(line)]
    for start, end in pairwise([*starts, len(lines)]):
        yield start, lines[start].partition(":")[0], "\n".join(lines[start:end])


def text_in_broken_quotes(field: str) -> str:
    """The text of a field whose quotes do not close, or close too early; empty if it has none."""
    value = " ".join(field.partition(":")[2].split())
    return value.strip("\"'") if value.startswith(("'", '"')) else ""


def first_heading(body: str) -> str | None:
    """The first heading of a body; without one, its first line of text."""
    first = None
    for line in body.splitlines():
        if (heading := _HEADING.fullmatch(line)) and (title := heading[1].rstrip(" \t#")):
            return title
        if first is None and line.strip():
            first = line.strip()
    return first
