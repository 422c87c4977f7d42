"""The embedded model's reply under a grammar: a validated call of an offered tool, or no tool."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skillkit.core.foreign_json import parse_json
from skillkit.disclosure.tools import Argument

NO_TOOL = "none"
_WORD = re.compile(r"\w+")
_LISTED_VALUES = 12
_KEPT = (
    "type",
    "enum",
    "const",
    "items",
    "properties",
    "required",
    "minimum",
    "maximum",
    "minItems",
    "anyOf",
)
"""The subset of JSON Schema that grammars support."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as presented to the model."""

    name: str
    description: str
    parameters: Mapping[str, Any]

    @property
    def properties(self) -> Mapping[str, Mapping[str, Any]]:
        found: Mapping[str, Mapping[str, Any]] = self.parameters.get("properties", {})
        return found

    @property
    def required(self) -> Sequence[str]:
        return tuple(self.parameters.get("required", ()))

    def line(self) -> str:
        """Return `name(argument: type, …): description` in few tokens."""
        arguments = ", ".join(
            f"{name}{'' if name in self.required else '?'}: {_kind(schema)}"
            for name, schema in self.properties.items()
        )
        return f"- {self.name}({arguments}): {' '.join(self.description.split())}"


@dataclass(frozen=True, slots=True)
class Call:
    """A tool name and its arguments."""

    tool: str
    arguments: Mapping[str, Any]

    def text(self) -> str:
        """Return the call in the model's format."""
        return json.dumps({"tool": self.tool, "arguments": dict(self.arguments)}, ensure_ascii=False)


NO_TOOL_TEXT = json.dumps({"tool": NO_TOOL})


def reply_schema(tools: Sequence[ToolSpec], *, required: bool = False) -> dict[str, Any]:
    """Return a JSON schema with one alternative per tool and, unless `required`, one for no tool."""
    alternatives = [] if required else [_object({"tool": {"const": NO_TOOL}})]
    for tool in tools:
        for arguments in _argument_schemas(tool.parameters):
            alternatives.append(_object({"tool": {"const": tool.name}, "arguments": arguments}))
    return {"anyOf": alternatives}


def parse(text: str) -> Call | None:
    """Return the call in a reply; None for no tool and for a truncated reply."""
    try:
        reply = parse_json(text)
    except ValueError:
        return None
    match reply:
        case {"tool": str(name), "arguments": dict(arguments)} if name != NO_TOOL:
            return Call(name, arguments)
        case _:
            return None


def _argument_schemas(schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the argument schemas of a tool: one per alternative in `anyOf`."""
    required = schema.get("required", ())
    found = []
    narrowings: Sequence[Mapping[str, Any]] = schema.get("anyOf") or ({},)
    for narrowed in narrowings:
        properties = {**schema.get("properties", {}), **narrowed.get("properties", {})}
        kept = {name: _plain(part) for name, part in properties.items()}
        found.append(_object(kept, [name for name in kept if name in required]))
    return found


def _object(properties: Mapping[str, Any], required: Sequence[str] | None = None) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties if required is None else required),
        "additionalProperties": False,
    }


def _plain(schema: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: schema[key] for key in _KEPT if key in schema}
    if "items" in kept:
        kept["items"] = _plain(kept["items"])
    if "properties" in kept:
        kept["properties"] = {name: _plain(part) for name, part in kept["properties"].items()}
    if "anyOf" in kept:
        kept["anyOf"] = [_plain(part) for part in kept["anyOf"]]
    return kept


def _kind(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        values = [str(value) for value in schema["enum"]]
        return "|".join(values[:_LISTED_VALUES]) + ("|…" if len(values) > _LISTED_VALUES else "")
    if "anyOf" in schema:
        return "|".join(_kind(part) for part in schema["anyOf"] if part.get("type") != "null")
    kind = schema.get("type", "any")
    if isinstance(kind, list):
        kind = "|".join(part for part in kind if part != "null")
    if kind == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    return str(kind)


def missing_value(call: Call, tool: ToolSpec, known: str) -> str | None:
    """Return a question for the first value that does not occur in `known`; None if all do.

    Checks required strings without enum or default, each string of a required list, and positional values of
    a script's arguments.
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
        if name == Argument.ARGS and isinstance(value, list):
            yield from ((name, each) for each in _positional(value))
        elif name not in tool.required or "default" in schema:
            continue
        elif isinstance(value, str) and not _has_choices(schema):
            yield name, value
        elif isinstance(value, list) and not _has_choices(schema.get("items", {})):
            yield from ((name, each) for each in value if isinstance(each, str))


def _positional(args: list[Any]) -> Iterator[str]:
    """Yield the values that are neither options nor follow one."""
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
