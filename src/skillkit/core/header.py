"""From bytes to a header: where it starts and ends, and the plain data in it.

YAML is read event by event, so that anchors, aliases, tags, merge keys and deep nesting are refused
before anything is built from them.
"""

import re
from typing import Any, NamedTuple

import yaml

from skillkit.core.exceptions import InvalidFrontmatterError, InvalidYAMLError

try:
    from yaml.cyaml import CParser as _EventParser
except ImportError:  # PyYAML built without libyaml
    from yaml import SafeLoader as _EventParser  # type: ignore[assignment]

MAX_HEADER_BYTES = 64 * 1024
MAX_DEPTH = 8
BOM = b"\xef\xbb\xbf"

_OPENING = re.compile(rb"---[ \t]*(?:\r?\n|\r|$)")
_CLOSING = re.compile(rb"(?:\r\n|\n|\r)---[ \t]*(?=\r|\n|$)")
_LINE_BREAK = re.compile(rb"\r\n|\n|\r")
_HEADER_LINE = re.compile(
    rb"(?:[A-Za-z][\w-]*:(?=[ \t\r\n]|$)|[ \t]+\S|-[ \t])[^\r\n]*(?:\r\n|\n|\r|$)"
)
_BREAKS_ONLY_YAML_KNOWS = re.compile("[\x85\u2028\u2029]")
_NUMBER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
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
    skipped_lines: int
    """Blank lines before the opening fence."""
    bom: bool


class Field(NamedTuple):
    """One top-level entry of a header."""

    key: str
    value: Value
    line: int
    quoted: bool


def split(data: bytes) -> Split:
    """Find the fences. Each is a whole line; `---` inside a value is none.

    A header that does not end is taken to end at the first line that looks like prose.
    """
    start = len(BOM) if data.startswith(BOM) else 0
    bom = start > 0
    fence = start
    while data[fence : fence + 1] in (b"\n", b"\r", b" ", b"\t"):
        fence += 1
    opening = _OPENING.match(data, fence)
    skipped = len(_LINE_BREAK.findall(data, start, fence))
    if not opening:
        return Split(False, False, start, start, start, 1, 0, bom)
    header_start = opening.end()
    first_line = skipped + 2
    # The line break that ends the opening fence may also begin the closing one.
    closing = _CLOSING.search(data, max(header_start - 1, fence + 3))
    if not closing:
        end = header_start
        while end < len(data) and (line := _HEADER_LINE.match(data, end)):
            end = line.end()
        return Split(True, False, header_start, end, end, first_line, skipped, bom)
    body_start = closing.end()
    line_break = _LINE_BREAK.match(data, body_start)
    if line_break:
        body_start = line_break.end()
    return Split(
        True,
        True,
        header_start,
        max(header_start, closing.start()),
        body_start,
        first_line,
        skipped,
        bom,
    )


def load(text: str, first_line: int = 1, *, text_only: frozenset[str] = frozenset()) -> list[Field]:
    """The top-level entries of a YAML header; fields in `text_only` keep every scalar as it is written.

    Raises InvalidYAMLError or InvalidFrontmatterError, with line and column in the file.
    """
    # U+0085, U+2028 and U+2029 end a line for YAML and for nobody who reads the file.
    text = _BREAKS_ONLY_YAML_KNOWS.sub(" ", text)
    try:
        return _Builder(text, first_line, text_only).fields()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + first_line if mark else None
        column = mark.column + 1 if mark else None
        where = f" at line {line}, column {column}" if mark else ""
        raise InvalidYAMLError(
            f"Invalid YAML syntax{where}: {error.problem}", line=line, column=column
        ) from error
    except (yaml.YAMLError, UnicodeError) as error:
        problem = str(error).splitlines()[0]
        raise InvalidYAMLError(
            f"Invalid YAML syntax: {problem}", line=first_line, column=1
        ) from error


class _Builder:
    """Turns parser events into plain data, refusing what has no business in a header."""

    def __init__(self, text: str, first_line: int, text_only: frozenset[str]) -> None:
        self._next = _EventParser(text).get_event
        self._first_line = first_line
        self._text_only = text_only

    def fields(self) -> list[Field]:
        event = self._next()
        while isinstance(event, (yaml.StreamStartEvent, yaml.DocumentStartEvent)):
            if getattr(event, "version", None) or getattr(event, "tags", None):
                raise self._refused(event, "YAML directives")
            event = self._next()
        if isinstance(event, (yaml.StreamEndEvent, yaml.DocumentEndEvent)):
            return []
        if not isinstance(event, yaml.MappingStartEvent):
            self._check(event)
            raise InvalidFrontmatterError(
                "The header must be a mapping of fields, one `field: value` a line"
            )
        self._check(event)
        fields = list(self._entries())
        if not isinstance(self._next(), yaml.DocumentEndEvent):
            raise self._refused(event, "more than one value")
        end = self._next()
        if not isinstance(end, yaml.StreamEndEvent):
            raise self._refused(end, "more than one document")
        return fields

    def _entries(self) -> "list[Field]":
        fields = []
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            key = self._key(event)
            start = self._next()
            typed = key not in self._text_only
            value = self._value(start, 2, typed=typed)
            quoted = isinstance(start, yaml.ScalarEvent) and start.style in ("'", '"')
            fields.append(Field(key, value, self._line(event), quoted))
        return fields

    def _key(self, event: Any) -> str:
        if not isinstance(event, yaml.ScalarEvent):
            raise self._refused(event, "a key that is not text")
        self._check(event)
        if event.value == "<<":
            raise self._refused(event, "merge keys (<<)")
        key: str = event.value
        return key

    def _value(self, event: Any, depth: int, *, typed: bool) -> Value:
        self._check(event)
        if isinstance(event, yaml.ScalarEvent):
            plain = event.style is None or event.style == ""
            return _typed(event.value) if typed and plain else event.value
        if depth > MAX_DEPTH:
            raise self._refused(event, f"nesting deeper than {MAX_DEPTH} levels")
        if isinstance(event, yaml.SequenceStartEvent):
            items = []
            while not isinstance(event := self._next(), yaml.SequenceEndEvent):
                items.append(self._value(event, depth + 1, typed=typed))
            return items
        entries: dict[str, Value] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            key = self._key(event)
            entries[key] = self._value(self._next(), depth + 1, typed=typed)
        return entries

    def _check(self, event: Any) -> None:
        if isinstance(event, yaml.AliasEvent):
            raise self._refused(event, "aliases (*name)")
        if event.anchor is not None:
            raise self._refused(event, "anchors (&name)")
        if event.tag is not None and event.tag != "!":
            raise self._refused(event, "tags (!type)")
        if event.tag == "!" and not isinstance(event, yaml.ScalarEvent):
            raise self._refused(event, "tags (!type)")

    def _line(self, event: Any) -> int:
        line: int = event.start_mark.line
        return line + self._first_line

    def _refused(self, event: Any, what: str) -> InvalidYAMLError:
        line, column = self._line(event), event.start_mark.column + 1
        return InvalidYAMLError(
            f"A header cannot contain {what}: line {line}, column {column}. Write the value out.",
            line=line,
            column=column,
        )


def _typed(text: str) -> Value:
    """A plain scalar as a person means it: numbers, true, false and null; everything else is text."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _NUMBER.fullmatch(text) and len(text) <= 20:
        return float(text) if any(mark in text for mark in ".eE") else int(text)
    return text
