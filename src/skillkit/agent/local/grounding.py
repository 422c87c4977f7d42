"""One check of a call's values: what has to be said must have been said."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from skillkit.agent.local.reply import Call, ToolSpec

ARGS = "args"
_WORD = re.compile(r"\w+")


def missing_value(call: Call, tool: ToolSpec, known: str) -> str | None:
    """Return the question for the first value that does not occur in `known`; None if all do.

    Checked are required strings without enum or default, each string of a required list, and positional
    values of a script's `args`.
    """
    words = set(_words(known))
    for name, value in _checked(call, tool):
        said = _words(value)
        if not said or not words.issuperset(said):
            return _question(tool, name)
    return None


def _checked(call: Call, tool: ToolSpec) -> Iterator[tuple[str, str]]:
    for name, value in call.arguments.items():
        schema = tool.properties.get(name, {})
        if name == ARGS and isinstance(value, list):
            yield from ((name, each) for each in _positional(value))
        elif name not in tool.required or "default" in schema:
            continue
        elif isinstance(value, str) and not _has_choices(schema):
            yield name, value
        elif isinstance(value, list) and not _has_choices(schema.get("items", {})):
            yield from ((name, each) for each in value if isinstance(each, str))


def _positional(args: list[Any]) -> Iterator[str]:
    """Yield the values that neither are options nor follow one."""
    after_option = False
    for each in map(str, args):
        is_option = each.startswith("-")
        if not is_option and not after_option:
            yield each
        after_option = is_option and "=" not in each


def _has_choices(schema: Mapping[str, Any]) -> bool:
    return "enum" in schema or "const" in schema


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _question(tool: ToolSpec, name: str) -> str:
    described = " ".join(str(tool.properties.get(name, {}).get("description", "")).split())
    return f"{tool.name} needs a value for {name}{f' ({described})' if described else ''}. Which one?"
