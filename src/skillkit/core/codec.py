"""Frozen data as JSON and back, by the annotations of its fields."""

import base64
import binascii
import types
from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")
_PLAIN = frozenset((str, int, float, bool))
"""Types that are the same in JSON; most fields are, so they are checked first."""


class ShapeError(ValueError):
    """Data does not match the data class; the message names the field."""


def encode(value: Any, left_out: Collection[str] = ()) -> dict[str, Any]:
    """Return the fields of a data class as JSON, without those `left_out`; bytes are in base64."""
    return {
        name: _encode(getattr(value, name), left_out)
        for name, _ in _fields(type(value))  # type: ignore[arg-type]
        if name not in left_out
    }


def decode(
    kind: type[T],
    data: object,
    *,
    given: Mapping[str, object] = types.MappingProxyType({}),
    forgiving: bool = False,
) -> T:
    """Return the data class that `encode` described; `given` are fields that are not in the data.

    What is missing and has no default, or has another type, raises ShapeError, and so does a field that
    the class does not have, unless it is read as `forgiving`.
    """
    return _decode_fields(kind, data, "", given, forgiving)


def _encode(value: Any, left_out: Collection[str]) -> Any:
    if value is None or type(value) in _PLAIN:
        return value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _encode(item, left_out) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_encode(item, left_out) for item in value]
    return encode(value, left_out) if is_dataclass(value) else value


@cache
def _fields(kind: type) -> tuple[tuple[str, bool], ...]:
    """The name of each field, and whether it is required."""
    return tuple(
        (item.name, item.default is MISSING and item.default_factory is MISSING) for item in fields(kind)
    )


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


@cache
def _taken_apart(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    return get_origin(kind), get_args(kind)


def _decode_fields(
    kind: type[T], data: object, where: str, given: Mapping[str, object], forgiving: bool
) -> T:
    if not isinstance(data, Mapping):
        raise ShapeError(f"'{where}' is not an object")
    declared = {name: needed for name, needed in _fields(kind) if name not in given}  # type: ignore[arg-type]
    if not forgiving and (unknown := sorted(set(data) - set(declared))):
        raise ShapeError(f"Unknown field '{where}{unknown[0]}'")
    values, hints = dict(given), _hints(kind)  # type: ignore[arg-type]
    for name, needed in declared.items():
        if name in data:
            values[name] = _decode(hints[name], data[name], f"{where}{name}", forgiving)
        elif needed:
            raise ShapeError(f"The field '{where}{name}' is missing")
    return kind(**values)


def _decode(kind: Any, data: Any, where: str, forgiving: bool) -> Any:
    if type(data) is kind and kind in _PLAIN:
        return data
    origin, parameters = _taken_apart(kind)
    if origin in (Union, types.UnionType):
        if data is None and type(None) in parameters:
            return None
        (kind,) = (one for one in parameters if one is not type(None))
        return _decode(kind, data, where, forgiving)
    if origin is tuple and isinstance(data, list):
        return tuple(
            _decode(parameters[0], item, f"{where}[{number}]", forgiving) for number, item in enumerate(data)
        )
    if isinstance(origin, type) and issubclass(origin, Mapping) and isinstance(data, dict):
        return {key: _decode(parameters[1], item, f"{where}.{key}", forgiving) for key, item in data.items()}
    if is_dataclass(kind) and isinstance(kind, type):
        return _decode_fields(kind, data, f"{where}.", {}, forgiving)
    return _decode_plain(kind, data, where)


def _decode_plain(kind: Any, data: Any, where: str) -> Any:
    if kind is object:
        return data
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if isinstance(kind, type) and isinstance(data, str):
        try:
            if kind is bytes:
                return base64.b64decode(data, validate=True)
            if issubclass(kind, Path | Enum):
                return kind(data)
        except (ValueError, binascii.Error):
            pass
    raise ShapeError(f"The field '{where}' has an invalid value: {str(data)[:60]!r}")
