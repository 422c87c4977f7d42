"""Requests and results as JSON: how another engine gets a run and hands back what came of it."""

import base64
import binascii
import json
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from skillkit.core.exceptions import SkillsUseError
from skillkit.core.foreign_json import parse_json
from skillkit.scripts.models import ScriptRequest, ScriptResult

VERSION = 1
"""Raised with every change of a field: a grant that a reader does not know must not be overlooked."""
REQUEST = "skillkit.script-request"
RESULT = "skillkit.script-result"
_LOCAL = frozenset({"base_dir"})
"""Fields that mean something on this machine only; elsewhere the tree is found by its digest."""

T = TypeVar("T")


class DocumentError(SkillsUseError):
    """A document is not a request or a result of this version; the message says where it is wrong."""


def request_to_json(request: ScriptRequest) -> bytes:
    """Return a request without the place of its tree on this machine."""
    return _dump(REQUEST, request)


def request_from_json(document: bytes, base_dir: Path) -> ScriptRequest:
    """Return the request in `document`, for a tree that scripts are to see at `base_dir`."""
    return _load(REQUEST, document, ScriptRequest, {"base_dir": base_dir})


def result_to_json(result: ScriptResult) -> bytes:
    """Return a result; output is in base64, since it may be anything."""
    return _dump(RESULT, result)


def result_from_json(document: bytes) -> ScriptResult:
    """Return the result in `document`."""
    return _load(RESULT, document, ScriptResult, {})


def _dump(form: str, value: object) -> bytes:
    return json.dumps({"format": f"{form}/{VERSION}", **_encode_fields(value)}).encode()


def _load(form: str, document: bytes, kind: type[T], local: Mapping[str, object]) -> T:
    try:
        data = parse_json(document)
    except ValueError as error:
        raise DocumentError(f"Not a {form}: not JSON") from error
    data = data if isinstance(data, dict) else {}
    found, _, version = str(data.pop("format", "")).rpartition("/")
    if found != form:
        raise DocumentError(f"Not a {form}: the field 'format' says something else")
    if version != str(VERSION):
        raise DocumentError(
            f"A {form} of version {version}, and this skillkit reads version {VERSION}; "
            "run the same skillkit on both sides"
        )
    return _decode_fields(kind, data, "", local)


def _encode(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _encode(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_encode(item) for item in value]
    return _encode_fields(value) if is_dataclass(value) else value


def _encode_fields(value: Any) -> dict[str, Any]:
    return {
        item.name: _encode(getattr(value, item.name)) for item in fields(value) if item.name not in _LOCAL
    }


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _decode_fields(kind: type[T], data: object, where: str, local: Mapping[str, object]) -> T:
    if not isinstance(data, dict):
        raise DocumentError(f"'{where}' is not an object")
    declared = {item.name: item for item in fields(kind) if item.name not in local}  # type: ignore[arg-type]
    if unknown := sorted(set(data) - set(declared)):
        raise DocumentError(f"Unknown field '{where}{unknown[0]}'")
    values, hints = dict(local), _hints(kind)  # type: ignore[arg-type]
    for name, item in declared.items():
        if name in data:
            values[name] = _decode(hints[name], data[name], f"{where}{name}")
        elif item.default is MISSING and item.default_factory is MISSING:
            raise DocumentError(f"The field '{where}{name}' is missing")
    return kind(**values)


def _decode(kind: Any, data: Any, where: str) -> Any:
    origin, parameters = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        if data is None and type(None) in parameters:
            return None
        (kind,) = (one for one in parameters if one is not type(None))
        return _decode(kind, data, where)
    if origin is tuple and isinstance(data, list):
        return tuple(_decode(parameters[0], item, f"{where}[{number}]") for number, item in enumerate(data))
    if isinstance(origin, type) and issubclass(origin, Mapping) and isinstance(data, dict):
        return {key: _decode(parameters[1], item, f"{where}.{key}") for key, item in data.items()}
    if is_dataclass(kind) and isinstance(kind, type):
        return _decode_fields(kind, data, f"{where}.", {})
    return _decode_plain(kind, data, where)


def _decode_plain(kind: Any, data: Any, where: str) -> Any:
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if kind in (str, int, float, bool) and type(data) is kind:
        return data
    if isinstance(kind, type) and isinstance(data, str):
        try:
            if kind is bytes:
                return base64.b64decode(data, validate=True)
            if issubclass(kind, Path | Enum):
                return kind(data)
        except (ValueError, binascii.Error):
            pass
    raise DocumentError(f"The field '{where}' is not what it should be: {str(data)[:60]!r}")
