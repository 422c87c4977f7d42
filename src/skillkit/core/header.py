"""From bytes to a header: where it starts and ends, and the plain data in it.

Most headers are plain `field: value` lines and are read as such. Everything else goes to the YAML
reader; where both can read a header they give the same answer, which a test checks.
"""

import re
from sys import intern
from typing import Any, NamedTuple

MAX_HEADER_BYTES = 64 * 1024
_MAX_BLANK = 1024
HEAD_BYTES = MAX_HEADER_BYTES + _MAX_BLANK + 1024
"""No more of a file than this is ever looked at to find its header."""
FIRST_READ = 4096
"""Enough for nearly every header; without one, no more than this is looked at."""
BOM = b"\xef\xbb\xbf"

_BLANK = re.compile(rb"[ \t\r\n]{0,%d}" % _MAX_BLANK)
_OPENING = re.compile(rb"---[ \t]{0,32}(?:\r?\n|\r|$)")
_CLOSING = re.compile(rb"(?:\r\n|\n|\r)---[ \t]{0,32}(?=\r|\n|$)")
_LINE_BREAK = re.compile(rb"\r\n|\n|\r")
_HEADER_LINE = re.compile(rb"(?:[A-Za-z][\w-]*:(?=[ \t\r\n]|$)|[ \t]+\S|-[ \t])[^\r\n]*(?:\r\n|\n|\r|$)")

_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,127}")
"""Shorter than what YAML takes for a key."""
_FLOW_SPECIAL = frozenset("[]{}")
_INDICATORS = frozenset("-?:,[]{}#&*!|>'\"%@`")
_NUMBER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_MAX_NUMBER = 20
_CONSTANTS = {"": None, "~": None, "null": None, "Null": None, "NULL": None} | {
    spelling: value
    for word, value in (("true", True), ("false", False))
    for spelling in (word, word.capitalize(), word.upper())
}

Value = Any
"""Text, number, bool, None, or lists and dictionaries of them."""


class Split(NamedTuple):
    """Where the parts of a SKILL.md are, in bytes."""

    found: bool
    """There is an opening fence."""
    terminated: bool
    header_start: int
    header_end: int
    body_start: int
    first_line: int
    """The number of the header's first line in the file."""
    late: bool
    """Something blank stands before the opening fence."""
    bom: bool


class Field(NamedTuple):
    """One top-level entry of a header."""

    key: str
    value: Value
    line: int
    quoted: bool


def split(data: bytes) -> Split:
    """Find the fences. Each is a whole line; `---` inside a value is none.

    A header that does not end within its limit is taken to end at the first line that looks like prose.
    The answer is the same for a whole file and for its first `HEAD_BYTES`.
    """
    # Nearly every file: plain fences, and no other spelling of one before the second.
    end = data.find(b"\n---\n", 3) if data.startswith(b"---\n") else -1
    if 0 <= end <= MAX_HEADER_BYTES and data.find(b"\n---", 3) == end and data.find(b"\r", 0, end) < 0:
        return Split(True, True, 4, max(4, end), end + 5, 2, False, False)
    data = data[:HEAD_BYTES]
    start = len(BOM) if data.startswith(BOM) else 0
    blank = _BLANK.match(data, start)
    fence = blank.end() if blank else start
    opening = _OPENING.match(data, fence)
    if not opening:
        return Split(False, False, start, start, start, 1, False, start > 0)
    header_start = opening.end()
    first_line = len(_LINE_BREAK.findall(data, start, fence)) + 2
    # The line break that ends the opening fence may also begin the closing one.
    closing = _CLOSING.search(data, max(header_start - 1, fence + 3))
    terminated = closing is not None and closing.start() - header_start <= MAX_HEADER_BYTES
    if closing is not None and terminated:
        line_break = _LINE_BREAK.match(data, closing.end())
        header_end = max(header_start, closing.start())
        body_start = line_break.end() if line_break else closing.end()
    else:
        header_end = body_start = _first_prose(data, header_start)
    return Split(True, terminated, header_start, header_end, body_start, first_line, fence > start, start > 0)


def _first_prose(data: bytes, position: int) -> int:
    while position < len(data) and (line := _HEADER_LINE.match(data, position)):
        position = line.end()
    return position


def load(text: str, first_line: int = 1, *, text_only: frozenset[str] = frozenset()) -> list[Field]:
    """The top-level entries of a header; fields in `text_only` keep every scalar as it is written.

    Raises InvalidYAMLError or InvalidFrontmatterError, with line and column in the file.
    """
    fields = load_simple(text, first_line, text_only)
    if fields is not None:
        return fields
    from skillkit.core.yaml_header import load_yaml

    return load_yaml(text, first_line, text_only)


def load_simple(text: str, first_line: int, text_only: frozenset[str]) -> list[Field] | None:
    """`load` for headers of one-line values, lists of them and one level of mappings; else None."""
    if not text.replace("\r\n", "").replace("\n", "").isprintable():
        return None
    fields: list[Field] = []
    block: _Block | None = None
    for number, raw_line in enumerate(text.split("\n"), first_line):
        line = raw_line.rstrip(" \r")
        if not line or line[0] == "#":
            continue
        if line[0] in " -":
            if block is None or not block.add(line):
                return None
            continue
        key, colon, rest = line.partition(":")
        as_text = key in text_only
        if not colon or not (as_text or _KEY.fullmatch(key)):
            return None
        block = None
        if not rest:
            fields.append(Field(key, "" if as_text else None, number, False))
            block = _Block(fields, as_text=as_text)
        elif rest[0] != " ":
            return None
        elif (value := _scalar(rest.lstrip(" "), as_text=as_text)) is not _NOT_SIMPLE:
            fields.append(Field(key, value, number, rest.lstrip(" ")[0] in "\"'"))
        else:
            return None
    return fields


_NOT_SIMPLE = object()


def _scalar(text: str, *, as_text: bool) -> Value:
    """The value of a scalar or flow list that YAML cannot read in any other way."""
    first, last = text[0], text[-1]
    if first in ('"', "'"):
        inner = text[1:-1]
        whole = len(text) > 1 and last == first and first not in inner and "\\" not in inner
        return inner if whole else _NOT_SIMPLE
    if first == "[" and last == "]":
        items = [_flow_item(item.strip(" "), as_text=as_text) for item in text[1:-1].split(",")]
        return _NOT_SIMPLE if _NOT_SIMPLE in items else items
    if first in _INDICATORS or last == ":" or ": " in text or " #" in text:
        return _NOT_SIMPLE
    return shared(text) if as_text else typed(text)


def _flow_item(text: str, *, as_text: bool) -> Value:
    if not text or ":" in text or not _FLOW_SPECIAL.isdisjoint(text):
        return _NOT_SIMPLE
    return _scalar(text, as_text=as_text)


class _Block:
    """The lines below a field that has no value of its own: a list, or a mapping one level deep."""

    __slots__ = ("_as_text", "_fields", "_indent", "_position", "_value")

    def __init__(self, fields: list[Field], *, as_text: bool) -> None:
        self._fields = fields
        self._position = len(fields) - 1
        self._as_text = as_text
        self._indent = -1
        self._value: Value = None

    def add(self, line: str) -> bool:
        """Take `line` in; False if it is not more of the same."""
        content = line.lstrip(" ")
        indent = len(line) - len(content)
        key = None
        if content.startswith("- "):
            text = content[2:].lstrip(" ")
        else:
            key, _, rest = content.partition(":")
            if not indent or not rest.startswith(" ") or not _KEY.fullmatch(key):
                return False
            text = rest.lstrip(" ")
        value = _scalar(text, as_text=self._as_text)
        if value is _NOT_SIMPLE or self._differs(indent, list if key is None else dict):
            return False
        if key is None:
            self._value.append(value)
        else:
            self._value[intern(key)] = value
        return True

    def _differs(self, indent: int, kind: type) -> bool:
        if self._value is None:
            self._indent, self._value = indent, kind()
            key, _, line, _ = self._fields[self._position]
            self._fields[self._position] = Field(key, self._value, line, False)
        return indent != self._indent or not isinstance(self._value, kind)


def typed(text: str) -> Value:
    """A plain scalar as a person means it: numbers, true, false and null; everything else is text."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if len(text) <= _MAX_NUMBER and _NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    return shared(text)


def shared(text: str) -> str:
    """`text`, kept once however many skills have it: licences, versions and tags repeat."""
    return intern(text) if len(text) <= 32 else text
