"""Arguments as they come out of JSON, converted to what annotations say or refused with a reason."""

import dataclasses
import inspect
import types
from collections.abc import Callable, Mapping, Sequence, Set
from enum import Enum
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin, get_type_hints, is_typeddict

TEXTUAL = frozenset({"Path", "PurePath", "Decimal", "UUID"})
"""Classes that are made from a text and written as one."""
_CONSTRAINTS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}


class ArgumentError(ValueError):
    """An argument is missing, unknown or does not match its annotation."""


def convert_value(annotation: Any, value: object, what: str) -> object:
    """Convert `value` to `annotation`; ArgumentError names `what`."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _validated(annotation, convert_value(arguments[0], value, what), what)
    if annotation in (Any, object, inspect.Parameter.empty):
        return value
    if origin is Literal:
        if value in arguments and type(value) in {type(argument) for argument in arguments}:
            return value
        raise ArgumentError(f"{what} must be one of {', '.join(map(repr, arguments))}; got {value!r}")
    if origin in (Union, types.UnionType):
        return _any_of(arguments, value, what)
    if origin is not None:
        return _filled(origin, arguments, value, what)
    if isinstance(annotation, type):
        return _instance(annotation, value, what)
    return value


def _validated(annotation: Any, value: object, what: str) -> object:
    """Check the bounds of a `Field`; other constraints are left to the function."""
    rules = read_metadata(get_args(annotation)[1:])
    if isinstance(value, (int, float)):
        checks: dict[str, Callable[[Any], bool]] = {
            "minimum": lambda limit: value >= limit,
            "exclusiveMinimum": lambda limit: value > limit,
            "maximum": lambda limit: value <= limit,
            "exclusiveMaximum": lambda limit: value < limit,
        }
        for name, holds in checks.items():
            if name in rules and not holds(rules[name]):
                raise ArgumentError(f"{what} must keep {name} {rules[name]}; got {value!r}")
    return value


def _any_of(alternatives: tuple[Any, ...], value: object, what: str) -> object:
    reasons = []
    # The exact kind first: 1 given to `float | int` stays a whole number.
    for alternative in sorted(alternatives, key=lambda kind: kind is not type(value)):
        try:
            return convert_value(alternative, value, what)
        except ArgumentError as error:
            reasons.append(str(error))
    raise ArgumentError("; or ".join(reasons))


def _filled(origin: Any, arguments: tuple[Any, ...], value: object, what: str) -> object:
    if issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise ArgumentError(f"{what} must be an object; got {value!r}")
        kind = arguments[1] if len(arguments) == 2 else Any
        return {key: convert_value(kind, item, f"{what}[{key!r}]") for key, item in value.items()}
    if not issubclass(origin, (Sequence, Set)):
        return value
    if isinstance(value, (str, bytes)) or not isinstance(value, (Sequence, Set)):
        raise ArgumentError(f"{what} must be a list; got {value!r}")
    if origin is tuple and arguments and arguments[-1] is not Ellipsis:
        if len(value) != len(arguments):
            raise ArgumentError(f"{what} must have {len(arguments)} items; got {len(value)}")
        return tuple(convert_value(kind, item, what) for kind, item in zip(arguments, value, strict=True))
    items = [convert_value(arguments[0], item, f"an item of {what}") for item in value]
    return items if inspect.isabstract(origin) or origin is list else origin(items)


def _instance(kind: Any, value: object, what: str) -> object:
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    wrong = ArgumentError(f"{what} must be {_kind(kind)}; got {value!r}")
    if isinstance(value, bool) and kind in (int, float):
        raise wrong
    if is_typeddict(kind) or isinstance(value, kind):
        return value
    try:
        made = _made(kind, value, what)
    except ArgumentError:
        raise
    except (ValueError, TypeError, KeyError, ArithmeticError) as error:
        raise ArgumentError(f"{what} is not {_kind(kind)}: {error}") from error
    if made is None:
        raise wrong
    return made


def _made(kind: Any, value: object, what: str) -> object:
    """An instance of `kind` out of plain data, or None if there is no way from one to the other."""
    if issubclass(kind, Enum):
        return kind(value) if value in {member.value for member in kind} else kind[str(value)]
    if callable(validate := getattr(kind, "model_validate", None)):
        return cast("object", validate(value))
    if dataclasses.is_dataclass(kind) and isinstance(value, Mapping):
        hints = get_type_hints(kind, include_extras=True)
        make = cast("Callable[..., object]", kind)
        return make(
            **{
                name: convert_value(hints.get(name, Any), item, f"{what}.{name}")
                for name, item in value.items()
            }
        )
    if isinstance(value, str) and callable(parse := getattr(kind, "fromisoformat", None)):
        return cast("object", parse(value))
    from_text = isinstance(value, str) and kind.__name__ in TEXTUAL
    from_list = isinstance(value, list) and kind in (tuple, set, frozenset)
    return cast("object", kind(value)) if from_text or from_list else None


def _kind(kind: type) -> str:
    names = {str: "a text", int: "a whole number", float: "a number", bool: "true or false", list: "a list"}
    if issubclass(kind, Enum):
        return "one of " + ", ".join(repr(member.value) for member in kind)
    return names.get(kind, kind.__name__)


def read_metadata(metadata: tuple[object, ...]) -> dict[str, object]:
    """Return the metadata of `Annotated`: a string is the description, so is that of a pydantic `Field`."""
    found: dict[str, object] = {}
    for item in metadata:
        if isinstance(item, str):
            found["description"] = item
        elif isinstance(description := getattr(item, "description", None), str):
            found["description"] = description
        for constraint in (item, *getattr(item, "metadata", ())):
            for name, key in _CONSTRAINTS.items():
                if isinstance(value := getattr(constraint, name, None), (int, float)):
                    found[key] = value
    return found
