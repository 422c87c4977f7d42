"""The YAML reader of headers: event by event, so that nothing is built from what is refused.

Anchors, aliases, tags, merge keys, directives and deep nesting have no business in a header, and each
has been used to make a reader run out of time, memory or stack.
"""

import re
from typing import Any

import yaml

from skillkit.core.exceptions import InvalidFrontmatterError, InvalidYAMLError, RefusedYAMLError
from skillkit.core.simple_header import Field, Value, as_written, typed

MAX_DEPTH = 8
_EventParser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BREAKS_ONLY_YAML_KNOWS = re.compile("[\x85\u2028\u2029]")
_FORBIDDEN = re.compile("[^\t\n\r -~\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def load_yaml(text: str, first_line: int, text_only: frozenset[str]) -> list[Field]:
    """The top-level entries of a YAML mapping."""
    # U+0085, U+2028 and U+2029 end a line for YAML and for nobody who reads the file.
    text = _BREAKS_ONLY_YAML_KNOWS.sub(" ", text)
    try:
        return _Builder(text, first_line, text_only).fields()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + first_line if mark else first_line
        column = mark.column + 1 if mark else 1
        raise InvalidYAMLError(
            f"Invalid YAML syntax at line {line}, column {column}: {error.problem}",
            line=line,
            column=column,
        ) from error
    except (yaml.YAMLError, UnicodeError) as error:
        found = _FORBIDDEN.search(text)
        before = text[: found.start()] if found else ""
        line, column = first_line + before.count("\n"), len(before) - before.rfind("\n")
        raise RefusedYAMLError(
            f"Invalid YAML syntax at line {line}, column {column}: a character that YAML does not allow",
            line=line,
            column=column,
        ) from error


class _Builder:
    """Turns parser events into plain data, refusing YAML features that headers must not use."""

    def __init__(self, text: str, first_line: int, text_only: frozenset[str]) -> None:
        self._next = _EventParser(text).get_event
        self._first_line = first_line
        self._text_only = text_only
        self._repeated: list[str] = []
        """Duplicate keys in one mapping of the current field."""

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
            raise InvalidFrontmatterError("The header must be a mapping of fields, one `field: value` a line")
        self._check(event)
        fields = list(self._entries())
        self._next()  # a mapping is all there is in a document
        end = self._next()
        if not isinstance(end, yaml.StreamEndEvent):
            raise self._refused(end, "more than one document")
        return fields

    def _entries(self) -> "list[Field]":
        fields = []
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            key = self._key(event)
            start = self._next()
            value = self._value(start, 2, as_text=key in self._text_only)
            quoted = isinstance(start, yaml.ScalarEvent) and start.style in ("'", '"')
            fields.append(Field(key, value, self._line(event), quoted, tuple(self._repeated)))
            self._repeated.clear()
        return fields

    def _key(self, event: Any) -> str:
        if not isinstance(event, yaml.ScalarEvent):
            raise self._refused(event, "a key that is not text")
        self._check(event)
        if event.value == "<<":
            raise self._refused(event, "merge keys (<<)")
        key: str = event.value
        return key

    def _value(self, event: Any, depth: int, *, as_text: bool) -> Value:
        self._check(event)
        if isinstance(event, yaml.ScalarEvent):
            if event.style:
                return event.value
            return as_written(event.value) if as_text else typed(event.value)
        if depth > MAX_DEPTH:
            raise self._refused(event, f"nesting deeper than {MAX_DEPTH} levels")
        if isinstance(event, yaml.SequenceStartEvent):
            items = []
            while not isinstance(event := self._next(), yaml.SequenceEndEvent):
                items.append(self._value(event, depth + 1, as_text=as_text))
            return items
        entries: dict[str, Value] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            key = self._key(event)
            value = self._value(self._next(), depth + 1, as_text=as_text)
            if key in entries:
                self._repeated.append(key)
            entries.setdefault(key, value)
        return entries

    def _check(self, event: Any) -> None:
        if isinstance(event, yaml.AliasEvent):
            raise self._refused(event, "aliases (*name)")
        if event.anchor is not None:
            raise self._refused(event, "anchors (&name)")
        if event.tag is not None and (event.tag != "!" or not isinstance(event, yaml.ScalarEvent)):
            raise self._refused(event, "tags (!type)")

    def _line(self, event: Any) -> int:
        line: int = event.start_mark.line
        return line + self._first_line

    def _refused(self, event: Any, what: str) -> RefusedYAMLError:
        line, column = self._line(event), event.start_mark.column + 1
        return RefusedYAMLError(
            f"A header cannot contain {what}: line {line}, column {column}. Write the value out.",
            line=line,
            column=column,
        )
