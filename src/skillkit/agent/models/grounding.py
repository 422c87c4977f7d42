"""Arguments that a small model made up: a value that nobody named is left out, or asked for."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from skillkit.agent.models.constrained import Answer, Call, ToolSpec

_CODE = 3
"""Lower-case values up to this length are codes (`fr`), derived from what was said rather than quoted."""
_STEM = 5
"""Words that begin with so many of the same letters count as the same: election, elections."""
COMMAND_LINE = "args"
"""The argument that holds the words of a script's command line."""


def check_arguments(call: Call, tools: Sequence[ToolSpec], said: str) -> Call | Answer:
    """Return the call with what occurs in `said`, all that was said and returned in the conversation.

    A required value that does not occur there is asked for instead. An optional one may be implied (French,
    where somebody is to say bonjour) and stays, except for options of a command line.
    """
    spec = next((tool for tool in tools if tool.name == call.tool), None)
    if spec is None:
        return call
    words = _Words(said)
    checked: dict[str, Any] = {}
    for name, value in call.arguments.items():
        schema = spec.parameters.get("properties", {}).get(name, {})
        required = name in spec.parameters.get("required", ())
        kept = _checked(name, value, schema, words)
        if kept is _MADE_UP and (required or name == COMMAND_LINE):
            return Answer(_question(call, name, schema))
        checked[name] = value if kept is _MADE_UP else kept
    return Call(call.tool, checked)


_MADE_UP = object()


def _checked(name: str, value: Any, schema: Mapping[str, Any], words: "_Words") -> Any:
    match value:
        case str() if _is_free_text(schema):
            return value if words.contain(value) else _MADE_UP
        case [*parts] if name == COMMAND_LINE:
            return _command_line(parts, words)
        case [*parts] if parts and _is_free_text(schema.get("items", {})):
            named = [part for part in parts if not isinstance(part, str) or words.contain(part)]
            return named or _MADE_UP
        case _:
            return value


def _is_free_text(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "string" and "enum" not in schema and "const" not in schema


def _command_line(parts: Sequence[Any], words: "_Words") -> Any:
    """The words of a command line: options whose value nobody named go, a made-up word is asked for."""
    kept: list[Any] = []
    place = 0
    while place < len(parts):
        part = str(parts[place])
        value = str(parts[place + 1]) if place + 1 < len(parts) else None
        if not part.startswith("-"):
            if not words.contain(part):
                return _MADE_UP
            kept.append(parts[place])
        elif "=" in part:
            kept += [parts[place]] if words.contain(part.partition("=")[2]) else []
        elif value is not None and not value.startswith("-"):
            kept += parts[place : place + 2] if words.contain(value) else []
            place += 1
        else:
            kept.append(parts[place])
        place += 1
    return kept


def _question(call: Call, name: str, schema: Mapping[str, Any]) -> str:
    if name == COMMAND_LINE:
        return f"To run {call.arguments.get('script_name', call.tool)} I need a name: which one do you mean?"
    about = " ".join(str(schema.get("description") or "").split()).rstrip(".")
    return f"Which {name} do you mean{f' ({about[0].lower()}{about[1:]})' if about else ''}?"


class _Words:
    """What was said, to look values up in."""

    def __init__(self, said: str) -> None:
        self._text = said.casefold()
        self._words = set(re.findall(r"\w+", self._text))
        self._stems = {word[:_STEM] for word in self._words if len(word) >= _STEM}

    def contain(self, value: str) -> bool:
        folded = value.casefold().strip()
        is_code = len(folded) <= _CODE and value.islower()
        if is_code or folded in self._text:
            return True
        parts = re.findall(r"\w+", folded)
        return bool(parts) and all(part in self._words or part[:_STEM] in self._stems for part in parts)
