"""The reader of plain headers: `field: value` lines, lists of them and one level of mappings."""

import re
from sys import intern
from typing import Any, NamedTuple

_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,127}")
"""Shorter than the longest key YAML accepts."""
_FLOW_SPECIAL = frozenset("[]{}")
_INDICATORS = frozenset("-?:,[]{}#&*!|>'\"%@`")
_NUMBER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_MAX_NUMBER = 20
_SHORT = 32
"""Longer than any number or constant; short texts repeat from skill to skill and are kept once."""
_NULL = frozenset({"~", "null", "Null", "NULL"})
_CONSTANTS = dict.fromkeys(("", *_NULL)) | {
    spelling: value
    for word, value in (("true", True), ("false", False))
    for spelling in (word, word.capitalize(), word.upper())
}

Value = Any
"""Text, number, bool, None, or lists and dictionaries of them."""


class Field(NamedTuple):
    """One top-level entry of a header."""

    key: str
    value: Value
    line: int
    quoted: bool
    repeated: tuple[str, ...] = ()
    """Duplicate keys in a mapping of the value; the first one is used."""


def load_simple(text: str, first_line: int, text_only: frozenset[str]) -> list[Field] | None:
    """Load a header of plain values, lists of one-line ones and one level of mappings; None for any other."""
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    lines = text.split("\n")
    if not "".join(lines).isprintable():
        return None
    fields: list[Field] = []
    block: _Block | None = None
    above = ""
    """The value on the previous line, which may continue."""
    for number, raw_line in enumerate(lines, first_line):
        key, colon, rest = raw_line.partition(":")
        as_text = key in text_only
        if not as_text:  # only other lines can be anything but a field
            line = raw_line.rstrip(" ")
            if not line or line[0] == "#":
                above = ""
                continue
            if line[0] in " -":
                if not (block.add(line) if block is not None else _goes_on(fields, above, line)):
                    return None
                continue
            if not _KEY.fullmatch(key):
                return None
        if not colon:
            return None
        block, above = None, rest.strip(" ")
        if not above:
            fields.append(Field(key, "" if as_text else None, number, False))
            block = _Block(fields, as_text=as_text)
        elif rest[0] != " " or (value := _scalar(above, as_text)) is _NOT_SIMPLE:
            return None
        else:
            fields.append(Field(key, value, number, above[0] in "\"'"))
    return fields


_NOT_SIMPLE = object()


def _scalar(text: str, as_text: bool) -> Value:
    """Return the value of an unambiguous scalar or flow list."""
    first, last = text[0], text[-1]
    if not (first in _INDICATORS or last == ":" or ": " in text or " #" in text):
        return as_written(text) if as_text else typed(text)
    if first in "\"'":
        inner = text[1:-1]
        whole = len(text) > 1 and last == first and first not in inner and "\\" not in inner
        return inner if whole else _NOT_SIMPLE
    if first == "[" and last == "]":
        inner = text[1:-1]
        if ":" in inner or not _FLOW_SPECIAL.isdisjoint(inner):
            return _NOT_SIMPLE
        parts = [part.strip(" ") for part in inner.split(",")]
        items = [_scalar(part, as_text) if part else _NOT_SIMPLE for part in parts]
        return _NOT_SIMPLE if _NOT_SIMPLE in items else items
    return _NOT_SIMPLE


def _goes_on(fields: list[Field], above: str, line: str) -> bool:
    """Add `line` to the unquoted text of the last field, which began with `above`, if it is more of it."""
    more = line.lstrip(" ")
    if not above or more == line or not (_is_plain(above) and _is_plain(more)):
        return False
    before = fields[-1].value
    text = f"{before if isinstance(before, str) else above} {more}"
    fields[-1] = fields[-1]._replace(value=text)
    return True


def _is_plain(text: str) -> bool:
    """Whether YAML reads all of `text` as an unquoted scalar."""
    return text[0] not in "\"'[" and _scalar(text, True) is not _NOT_SIMPLE


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
        value = _scalar(text, self._as_text)
        if value is _NOT_SIMPLE or self._differs(indent, list if key is None else dict):
            return False
        if key is None:
            self._value.append(value)
        elif key in self._value:
            return False
        else:
            self._value[intern(key)] = value
        return True

    def _differs(self, indent: int, kind: type) -> bool:
        if self._value is None:
            self._indent, self._value = indent, kind()
            field = self._fields[self._position]
            self._fields[self._position] = Field(field.key, self._value, field.line, False)
        return indent != self._indent or not isinstance(self._value, kind)


def typed(text: str) -> Value:
    """Parse a plain scalar: numbers, true, false and null; everything else is text."""
    if len(text) > _SHORT:
        return text
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] in "+-0123456789" and len(text) <= _MAX_NUMBER and _NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    return intern(text)


def as_written(text: str) -> str | None:
    """Return a plain scalar as text; null means not given."""
    if len(text) > _SHORT:
        return text
    return None if text in _NULL else intern(text)


def shared(text: str) -> str:
    """Intern `text`: licences, versions and tags repeat."""
    return intern(text) if len(text) <= _SHORT else text
