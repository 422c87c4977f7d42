"""Format a tool result as the answer to the user, without a second model request."""

from collections.abc import Mapping, Sequence
from typing import Any

from skillkit.core.foreign_json import parse_json
from skillkit.disclosure.tool_result import unfence

MAX_ITEMS = 12
MAX_FIELDS = 8
"""Limit of fields of an entry in a list; a single result is returned in full."""
MAX_CHARACTERS = 4_000


def answer_from_result(result: str) -> str:
    """Return a tool result as text: one line per field or entry, other data unchanged."""
    match _payload(result):
        case {"success": True, "result": value}:
            text = _as_text(value)
        case {"success": False, "message": message}:
            text = f"Error: {message}"
        case None:
            text = (unfence(result) or result).strip()
        case value:
            text = _as_text(value)
    text = text or "Done; there was nothing to show."
    left = len(text) - MAX_CHARACTERS
    return text if left <= 0 else f"{text[:MAX_CHARACTERS]}\n… ({left:,} more characters)"


def _payload(result: str) -> Any:
    try:
        return parse_json(unfence(result) or result)
    except ValueError:
        return None


def _as_text(value: object, indent: str = "") -> str:
    """Format data as lines: one per field and per list entry."""
    match value:
        case {**fields}:
            return "\n".join(
                _field(str(name), part, indent) for name, part in fields.items() if not _is_empty(part)
            )
        case [*entries]:
            lines = [f"{indent}- {_entry(entry)}" for entry in entries[:MAX_ITEMS]]
            left = len(entries) - MAX_ITEMS
            return "\n".join(lines + [f"{indent}- … and {left} more"] * (left > 0))
        case _:
            return _word(value)


def _field(name: str, value: object, indent: str) -> str:
    if isinstance(value, list | dict):
        return f"{indent}{name}:\n{_as_text(value, indent + '  ')}"
    return f"{indent}{name}: {_word(value)}"


def _entry(entry: object) -> str:
    match entry:
        case {**fields}:
            shown = [f"{name}: {_inline(part)}" for name, part in fields.items() if not _is_empty(part)]
            return " · ".join(shown[:MAX_FIELDS])
        case _:
            return _inline(entry)


def _inline(value: object) -> str:
    match value:
        case {**fields}:
            return ", ".join(f"{name} {_inline(part)}" for name, part in fields.items())
        case [*entries]:
            return ", ".join(map(_inline, entries))
        case _:
            return " ".join(_word(value).split())


def _is_empty(value: object) -> bool:
    return value is None or (isinstance(value, str | Sequence | Mapping) and not value)


def _word(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case None:
            return "nothing"
        case _:
            return str(value)
