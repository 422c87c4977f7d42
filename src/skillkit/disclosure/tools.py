"""A tool as every framework understands it: name, description, JSON schema, async handler."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from skillkit.disclosure.session import SkillSession

Handler = Callable[..., Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Tool:
    """Something a model may call."""

    name: str
    description: str
    parameters: Mapping[str, object]
    """JSON schema of the arguments."""
    handler: Handler
    """Takes the arguments by keyword; answers its errors as data."""

    async def call(self, arguments: Mapping[str, object]) -> object:
        """The handler's answer, or what is wrong with the arguments as data."""
        accepted = accept(arguments, self.parameters)
        if isinstance(accepted, str):
            message = f"{self.name}: {accepted}"
            return {"success": False, "error": "invalid_arguments", "message": message}
        return await self.handler(**accepted)


class ToolSource(Protocol):
    """Whoever has more tools for a conversation: scripts, the toolsets of active skills."""

    def tools(self, session: "SkillSession") -> Sequence[Tool]: ...


def accept(arguments: object, schema: Mapping[str, object]) -> dict[str, object] | str:
    """The arguments as the handler takes them, or a sentence that says what is wrong.

    Models write numbers as text and null for what they leave out; both are understood. An argument that
    the schema does not name is refused unless `additionalProperties` allows it. An `enum` is a hint to
    the model: the handler knows more spellings and gives the better answer.
    """
    if not isinstance(arguments, Mapping):
        return f"arguments must be an object, got {_kind(arguments)}. {_expected(schema)}"
    properties = _mapping(schema.get("properties"))
    accepted: dict[str, object] = {}
    for name, value in arguments.items():
        known = name in properties
        if not known and not schema.get("additionalProperties", False):
            return f"there is no argument {str(name)[:80]!r}. {_expected(schema)}"
        if value is None and name not in _names(schema.get("required")):
            continue
        fitting, value = _fit(value, _mapping(properties.get(name))) if known else (True, value)  # noqa: PLW2901
        if not fitting:
            return f"argument {name!r} does not fit: {_kind(value)} given. {_expected(schema)}"
        accepted[str(name)] = value
    missing = [name for name in _names(schema.get("required")) if name not in accepted]
    if missing:
        return f"argument {missing[0]!r} is missing. {_expected(schema)}"
    return accepted


def _fit(value: object, schema: Mapping[str, object]) -> tuple[bool, object]:
    kinds = schema.get("type")
    if kinds is None:
        return True, value
    for kind in [kinds] if isinstance(kinds, str) else _names(kinds):
        if kind == "integer":
            value = _integer(value)
        if _is_of(value, kind) and _within(value, schema):
            return True, value
    return False, value


def _is_of(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    types: dict[str, type | tuple[type, ...]] = {
        "string": str,
        "integer": int,
        "number": (int, float),
        "array": (list, tuple),
        "object": Mapping,
        "null": type(None),
    }
    expected = types.get(kind)
    return expected is not None and isinstance(value, expected)


def _within(value: object, schema: Mapping[str, object]) -> bool:
    if isinstance(value, int | float):
        low, high = schema.get("minimum"), schema.get("maximum")
        return not (
            (isinstance(low, int | float) and value < low) or (isinstance(high, int | float) and value > high)
        )
    items = _mapping(schema.get("items"))
    if items and isinstance(value, list | tuple):
        return all(_fit(item, items)[0] for item in value)
    return True


def _integer(value: object) -> object:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and value.strip().lstrip("-").isdecimal() and len(value) < 20:
        return int(value)
    return value


def _expected(schema: Mapping[str, object]) -> str:
    required = _names(schema.get("required"))
    described = []
    for name, rules in _mapping(schema.get("properties")).items():
        rule = _mapping(rules)
        low, high = rule.get("minimum"), rule.get("maximum")
        bounds = f" {low}…{high}" if low is not None and high is not None else ""
        need = "required" if name in required else "optional"
        described.append(f"{name} ({rule.get('type', 'any')}{bounds}, {need})")
    return f"Expected: {', '.join(described) or 'no arguments'}."


def _kind(value: object) -> str:
    names = {str: "text", int: "a number", float: "a number", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a list" if isinstance(value, list | tuple) else "an object")


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _names(value: object) -> tuple[str, ...]:
    return tuple(str(name) for name in value) if isinstance(value, list | tuple) else ()
