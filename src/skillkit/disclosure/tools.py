"""A framework-neutral tool: name, description, JSON schema, effect and async handler."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from skillkit.core.events import Kind
from skillkit.disclosure.tool_result import ToolResult

if TYPE_CHECKING:
    from skillkit.disclosure.session import SkillSession

logger = logging.getLogger(__name__)


class Argument:
    """Names of the arguments of several tools, as models write them."""

    SKILL = "skill_id"
    SCRIPT = "script_name"
    ARGS = "args"
    PATH = "path"
    TEXT = "arguments"


SKILL_ALIASES = {"skill_name": Argument.SKILL, "skill": Argument.SKILL}
"""Alternative spellings of the skill argument in calls by models."""

Handler = Callable[..., Awaitable[object]]


class Effect(str, Enum):
    """The effect of a tool call."""

    READS = "reads"
    """Reads skills; runs nothing and changes nothing outside the conversation."""
    RUNS_CODE = "runs_code"
    """Runs code of a skill in the sandbox."""
    ACTS = "acts"
    """Runs its author's code in this process; the default for tools without a declared effect."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a model may call."""

    name: str
    description: str
    parameters: Mapping[str, object]
    """JSON schema of the arguments."""
    handler: Handler
    """Takes the arguments as keywords; returns a ToolResult, or data that is fenced as third-party."""
    effect: Effect = Effect.ACTS
    asks: bool = False
    """Whether each call needs the user's approval."""
    skill: str = ""
    """Id of the skill that provides the tool; empty for a tool shared by all skills."""
    event: Kind | None = None
    """Journal event kind of a call; None if the code runner records it, or nobody does."""
    unlisted: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Accepted arguments that are omitted from the schema: rarely needed, but paid for in every request."""
    implied: Mapping[str, object] = field(default_factory=dict)
    """Implicit arguments of every call, shown to the user who approves it."""
    names_files: bool = True
    """Whether its arguments may name files of the user, for skills with `paths`."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Aliases of arguments, mapped to the names in the schema."""

    @property
    def definition(self) -> dict[str, object]:
        """Return the tool's definition for a model."""
        return {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}

    async def call(self, arguments: object) -> ToolResult:
        """Return the result for arguments as a model wrote them; errors are results too."""
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
        """Return `arguments` under their names in the schema."""
        if not isinstance(arguments, Mapping) or not self.aliases.keys() & arguments.keys():
            return arguments
        return {
            self.aliases.get(name, name): value
            for name, value in arguments.items()
            if self.aliases.get(name, name) == name or self.aliases[name] not in arguments
        }


def schema(required: Mapping[str, object], optional: Mapping[str, object] | None = None) -> dict[str, object]:
    """Return the JSON schema of arguments in few words: every request carries it."""
    described: dict[str, object] = {"type": "object", "properties": {**required, **(optional or {})}}
    return {**described, "required": list(required)} if required else described


def named_skill(arguments: Mapping[str, object]) -> str:
    """Return the skill that a call names, in any spelling; empty if it names none."""
    return str(next(filter(None, map(arguments.get, (Argument.SKILL, *SKILL_ALIASES))), ""))


class ToolSource(Protocol):
    """Provides tools for a conversation: disclosure itself, scripts, the toolsets of active skills."""

    def tools(self, session: "SkillSession") -> Sequence[Tool]: ...


@runtime_checkable
class ToolLookup(Protocol):
    """A source that finds one tool without creating all of them."""

    def tool(self, name: str, session: "SkillSession") -> Tool | None: ...


def find_tool(source: ToolSource, name: str, session: "SkillSession") -> Tool | None:
    """Return the tool named `name` in `source`."""
    if isinstance(source, ToolLookup):
        return source.tool(name, session)
    return next((tool for tool in source.tools(session) if tool.name == name), None)


_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": (list, tuple),
    "object": Mapping,
    "null": type(None),
}


def accept(arguments: object, schema: Mapping[str, object]) -> dict[str, object] | str:
    """Validate and convert the arguments for the handler; return an error message if they are invalid.

    Numbers written as strings and null for omitted arguments are accepted. Arguments missing from the schema
    are refused unless `additionalProperties` allows them. An `enum` is only a hint to the model: the handler
    accepts more spellings and has better error messages.
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
    """Return whether a value matches its schema, and the converted value: numbers may be strings."""
    kinds = schema.get("type")
    for kind in [kinds] if isinstance(kinds, str) else _names(kinds):
        if kind == "integer":
            value = _integer(value)
        of_kind = isinstance(value, _TYPES.get(kind, ())) and isinstance(value, bool) == (kind == "boolean")
        if of_kind and _within(value, schema):
            return True, value
    return kinds is None, value


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
