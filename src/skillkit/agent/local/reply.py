"""The reply of the embedded model under a grammar: a call of one of the tools on offer, or no tool."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skillkit.core.foreign_json import parse_json

NO_TOOL = "none"
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
"""The part of JSON schema that grammars are made from."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model reads it."""

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
    """A tool and its arguments."""

    tool: str
    arguments: Mapping[str, Any]

    def text(self) -> str:
        """Return the call as the model writes it."""
        return json.dumps({"tool": self.tool, "arguments": dict(self.arguments)}, ensure_ascii=False)


NO_TOOL_TEXT = json.dumps({"tool": NO_TOOL})


def reply_schema(tools: Sequence[ToolSpec], *, required: bool = False) -> dict[str, Any]:
    """Return a JSON schema with an alternative for each tool and, unless `required`, one for no tool."""
    alternatives = [] if required else [_object({"tool": {"const": NO_TOOL}})]
    for tool in tools:
        for arguments in _argument_schemas(tool.parameters):
            alternatives.append(_object({"tool": {"const": tool.name}, "arguments": arguments}))
    return {"anyOf": alternatives}


def parse(text: str) -> Call | None:
    """Return the call in a reply; None for no tool, and for a reply that was truncated."""
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
    """Return the schemas of the arguments; `anyOf` narrows properties together, an alternative each."""
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
