"""The reader of plain headers: `field: value` lines, lists of them and one level of mappings."""

import re
from sys import intern
from typing import Any, NamedTuple

_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,127}")
"""Shorter than what YAML takes for a key."""
_FLOW_SPECIAL = frozenset("[]{}")
_INDICATORS = frozenset("-?:,[]{}#&*!|>'\"%@`")
_NUMBER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_MAX_NUMBER = 20
_NULL = ("~", "null", "Null", "NULL")
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
    """Keys that stand twice in a mapping of the value; the first one counts."""


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
    return as_written(text) if as_text else typed(text)


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
        elif key in self._value:
            return False
        else:
            self._value[intern(key)] = value
        return True

    def _differs(self, indent: int, kind: type) -> bool:
        if self._value is None:
            self._indent, self._value = indent, kind()
            self._fields[self._position] = self._fields[self._position]._replace(value=self._value)
        return indent != self._indent or not isinstance(self._value, kind)


def typed(text: str) -> Value:
    """A plain scalar as a person means it: numbers, true, false and null; everything else is text."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if len(text) <= _MAX_NUMBER and _NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    return shared(text)


def as_written(text: str) -> str | None:
    """Return a plain scalar as text; null means not given."""
    return None if text in _NULL else shared(text)


def shared(text: str) -> str:
    """`text`, kept once however many skills have it: licences, versions and tags repeat."""
    return intern(text) if len(text) <= 32 else text
