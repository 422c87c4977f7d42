"""JSON schemas from annotations and docstrings, and arguments converted to what the annotations say."""

import dataclasses
import inspect
import re
import types
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin, get_type_hints, is_typeddict

from skillkit.toolsets.arguments import TEXTUAL, ArgumentError, convert_value, read_metadata
from skillkit.toolsets.values import plain

_SIMPLE: dict[object, dict[str, object]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    bytes: {"type": "string", "contentEncoding": "base64"},
    list: {"type": "array"},
    tuple: {"type": "array"},
    set: {"type": "array", "uniqueItems": True},
    frozenset: {"type": "array", "uniqueItems": True},
    dict: {"type": "object"},
}
_FORMATS = {"datetime": "date-time", "date": "date", "time": "time", "UUID": "uuid"}
_SECTION = re.compile(r"^(args|arguments|parameters|params)\s*:\s*$", re.IGNORECASE)
_OTHER_SECTION = re.compile(r"^(returns?|raises?|yields?|examples?|notes?)\s*:\s*$", re.IGNORECASE)
_ENTRY = re.compile(r"^\s*\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.+)$")
_SPHINX = re.compile(r"^\s*:param(?:\s+\w+)?\s+(\w+)\s*:\s*(.+)$")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a tool."""

    name: str
    annotation: object
    required: bool


@dataclass(frozen=True, slots=True)
class Signature:
    """A function as a model sees it."""

    name: str
    description: str
    schema: Mapping[str, object]
    parameters: tuple[Parameter, ...]

    @classmethod
    def of(cls, function: Callable[..., Any]) -> "Signature":
        description, described = _docstring(function)
        hints = _hints(function)
        definitions: dict[str, object] = {}
        properties: dict[str, object] = {}
        parameters: list[Parameter] = []
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            annotation = hints.get(parameter.name, Any)
            field = _schema(annotation, definitions)
            if parameter.name in described:
                field.setdefault("description", described[parameter.name])
            required = parameter.default is parameter.empty
            if not required:
                field.setdefault("default", plain(parameter.default))
            properties[parameter.name] = field
            parameters.append(Parameter(parameter.name, annotation, required))
        schema: dict[str, object] = {
            "type": "object",
            "properties": properties,
            "required": [parameter.name for parameter in parameters if parameter.required],
            "additionalProperties": False,
        }
        if definitions:
            schema["$defs"] = definitions
        return cls(function.__name__, description, schema, tuple(parameters))

    def convert(self, arguments: Mapping[str, object]) -> dict[str, object]:
        """Arguments as they come out of JSON, made into what the function expects."""
        known = {parameter.name: parameter for parameter in self.parameters}
        if unknown := sorted(set(arguments) - set(known)):
            raise ArgumentError(
                f"{self.name} does not take '{unknown[0]}'; it takes {', '.join(known) or 'nothing'}"
            )
        for parameter in self.parameters:
            if parameter.required and parameter.name not in arguments:
                raise ArgumentError(f"{self.name} needs the argument '{parameter.name}'")
        return {
            name: convert_value(known[name].annotation, value, f"'{name}' of {self.name}")
            for name, value in arguments.items()
        }


def _hints(function: Callable[..., Any]) -> dict[str, object]:
    try:
        return get_type_hints(function, include_extras=True)
    except (NameError, TypeError):
        # An annotation that only a type checker can resolve; the others still count.
        annotations = getattr(function, "__annotations__", {})
        return {name: hint for name, hint in annotations.items() if not isinstance(hint, str)}


def _schema(annotation: Any, definitions: dict[str, object]) -> dict[str, object]:
    if annotation in (Any, inspect.Parameter.empty, object):
        return {}
    if annotation in _SIMPLE:
        return dict(_SIMPLE[annotation])
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return {**_schema(arguments[0], definitions), **read_metadata(arguments[1:])}
    if origin is Literal:
        return _enumeration(list(arguments))
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema(argument, definitions) for argument in arguments]}
    if origin is not None:
        return _container(origin, arguments, definitions)
    if isinstance(annotation, type):
        return _of_class(annotation, definitions)
    return {}


def _container(origin: Any, arguments: tuple[Any, ...], definitions: dict[str, object]) -> dict[str, object]:
    if issubclass(origin, Mapping):
        values = _schema(arguments[1], definitions) if len(arguments) == 2 else {}
        return {"type": "object", "additionalProperties": values} if values else {"type": "object"}
    if origin is tuple and arguments and arguments[-1] is not Ellipsis:
        items = [_schema(argument, definitions) for argument in arguments]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
    if issubclass(origin, (Sequence, Set)):
        schema: dict[str, object] = {"type": "array", "items": _schema(arguments[0], definitions)}
        return {**schema, "uniqueItems": True} if issubclass(origin, Set) else schema
    return {}


def _of_class(kind: type, definitions: dict[str, object]) -> dict[str, object]:
    if issubclass(kind, Enum):
        return _enumeration([member.value for member in kind])
    if hasattr(kind, "model_json_schema"):
        schema: dict[str, object] = kind.model_json_schema(ref_template="#/$defs/{model}")
        definitions.update(cast("dict[str, object]", schema.pop("$defs", {})))
        return schema
    if dataclasses.is_dataclass(kind) or is_typeddict(kind):
        return _of_fields(kind, definitions)
    if kind.__name__ in _FORMATS:
        return {"type": "string", "format": _FORMATS[kind.__name__]}
    if kind.__name__ in TEXTUAL:
        return {"type": "string"}
    return {}


def _of_fields(kind: type, definitions: dict[str, object]) -> dict[str, object]:
    hints = get_type_hints(kind, include_extras=True)
    if dataclasses.is_dataclass(kind):
        missing = dataclasses.MISSING
        required = [
            field.name
            for field in dataclasses.fields(kind)
            if field.default is missing and field.default_factory is missing
        ]
    else:
        required = sorted(getattr(kind, "__required_keys__", ()))
    properties = {name: _schema(hint, definitions) for name, hint in hints.items()}
    return {"type": "object", "properties": properties, "required": required}


def _enumeration(values: list[Any]) -> dict[str, object]:
    names = {str: "string", bool: "boolean", int: "integer", float: "number"}
    kinds = {names.get(type(value)) for value in values}
    schema: dict[str, object] = {"enum": values}
    return {"type": kinds.pop(), **schema} if len(kinds) == 1 and None not in kinds else schema


def _docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """The text for the model, and what is said of each argument (Google and Sphinx styles)."""
    lines = (inspect.getdoc(function) or "").splitlines()
    text: list[str] = []
    described: dict[str, str] = {}
    last = ""
    inside = False
    for line in lines:
        if _SECTION.match(line):
            inside = True
        elif _OTHER_SECTION.match(line) or (inside and line.strip() and not line[:1].isspace()):
            inside, last = False, ""
            text.append(line)
        elif match := _SPHINX.match(line):
            described[match[1]] = match[2].strip()
        elif inside and (match := _ENTRY.match(line)):
            last = match[1]
            described[last] = match[2].strip()
        elif inside and last and line.strip():
            described[last] += " " + line.strip()
        elif not inside:
            text.append(line)
    return "\n".join(text).strip() or function.__name__.replace("_", " "), described
