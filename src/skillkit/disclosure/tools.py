"""A tool as every framework understands it: name, description, JSON schema, what it does, async handler."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from skillkit.core.events import Kind
from skillkit.disclosure.tool_result import ToolResult

if TYPE_CHECKING:
    from skillkit.disclosure.session import SkillSession

logger = logging.getLogger(__name__)

SKILL_ALIASES = {"skill_name": "skill_id", "skill": "skill_id"}
"""How else models call the skill that a tool is about."""

Handler = Callable[..., Awaitable[object]]


class Effect(str, Enum):
    """What a call of a tool can do."""

    READS = "reads"
    """Looks at skills; runs nothing and changes nothing outside the conversation."""
    RUNS_CODE = "runs_code"
    """Runs code of a skill in the sandbox."""
    ACTS = "acts"
    """Does what its author wrote, in this process; also what is assumed of a tool that does not say."""


@dataclass(frozen=True, slots=True)
class Tool:
    """Something a model may call."""

    name: str
    description: str
    parameters: Mapping[str, object]
    """JSON schema of the arguments."""
    handler: Handler
    """Takes the arguments by keyword; returns a ToolResult, or data that is fenced as somebody else's."""
    effect: Effect = Effect.ACTS
    asks: bool = False
    """Whether the user is asked before each call."""
    skill: str = ""
    """The id of the skill that brings the tool; empty for one that is there for all skills."""
    event: Kind | None = None
    """What the journal calls a call of it; None where whoever runs the code writes it down, or nobody."""
    unlisted: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Arguments that are accepted and not shown: hardly any call needs them, and every request would pay."""
    implied: Mapping[str, object] = field(default_factory=dict)
    """Arguments that every call has without saying so; the user who is asked sees them."""
    names_files: bool = True
    """Whether its arguments may name files of the user's, which skills with `paths` wait for."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Other names of arguments, with the name that the schema has."""

    @property
    def definition(self) -> dict[str, object]:
        """What a model is told of it."""
        return {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}

    async def call(self, arguments: object) -> ToolResult:
        """Return the result for arguments as a model wrote them; what goes wrong is a result too."""
        accepted = accept(self.renamed(arguments), self._accepted)
        if isinstance(accepted, str):
            return ToolResult.failure(self.name, "invalid_arguments", f"{self.name}: {accepted}")
        try:
            answer = await self.handler(**accepted)
        except Exception as error:
            logger.exception("Tool %s failed", self.name)
            return ToolResult.failure(self.name, "execution_failed", f"{type(error).__name__}: {error}")
        return answer if isinstance(answer, ToolResult) else ToolResult.from_data(self.name, answer)

    @property
    def _accepted(self) -> Mapping[str, object]:
        if not self.unlisted:
            return self.parameters
        return {
            **self.parameters,
            "properties": {**_mapping(self.parameters.get("properties")), **self.unlisted},
        }

    def renamed(self, arguments: object) -> object:
        """`arguments` under the names that the schema has."""
        if not isinstance(arguments, Mapping) or not self.aliases.keys() & arguments.keys():
            return arguments
        return {
            self.aliases.get(name, name): value
            for name, value in arguments.items()
            if self.aliases.get(name, name) == name or self.aliases[name] not in arguments
        }

    def with_choices(self, **choices: Sequence[str]) -> "Tool":
        """The same tool with these values, and no others, named for some of its arguments."""
        properties = dict(_mapping(self.parameters.get("properties")))
        for name, values in choices.items():
            properties[name] = {**_mapping(properties.get(name)), "enum": list(values)}
        return replace(self, parameters={**self.parameters, "properties": properties})

    def choices(self, name: str) -> tuple[str, ...]:
        """The values that the schema names for an argument; none when it takes any."""
        properties = _mapping(self.parameters.get("properties"))
        return _names(_mapping(properties.get(name)).get("enum"))


class ToolSource(Protocol):
    """Whoever has tools for a conversation: disclosure itself, scripts, the toolsets of active skills."""

    def tools(self, session: "SkillSession") -> Sequence[Tool]: ...


@runtime_checkable
class ToolLookup(Protocol):
    """A source that finds one tool without making all of them."""

    def tool(self, name: str, session: "SkillSession") -> Tool | None: ...


def find_tool(source: ToolSource, name: str, session: "SkillSession") -> Tool | None:
    """The tool that `source` calls `name`."""
    if isinstance(source, ToolLookup):
        return source.tool(name, session)
    return next((tool for tool in source.tools(session) if tool.name == name), None)


def accept(arguments: object, schema: Mapping[str, object]) -> dict[str, object] | str:
    """The arguments as the handler takes them, or a sentence that says what is wrong.

    Models write numbers as text and null for what they leave out; both are understood. An argument that
    the schema does not name is refused unless `additionalProperties` allows it. An `enum` is a hint to
    the model: the handler knows more spellings and gives the better answer.
    """
    if not isinstance(arguments, Mapping):
        return f"arguments must be one JSON object, got {_kind(arguments)}. {_expected(schema)}"
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
