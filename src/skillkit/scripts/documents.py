"""Requests and results as JSON, for engines elsewhere."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from skillkit.core.codec import ShapeError, decode, encode
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.foreign_json import parse_json
from skillkit.scripts.models import ScriptRequest, ScriptResult

VERSION = 1
"""Incremented with every change of a field, so that no reader overlooks an unknown grant."""
REQUEST = "skillkit.script-request"
RESULT = "skillkit.script-result"
_LOCAL = frozenset({"base_dir"})
"""Fields that are valid on this machine only; elsewhere the tree is found by its digest."""

T = TypeVar("T")


class DocumentError(SkillsUseError, code="document"):
    """A document is not a request or result of this version; the message says where."""


def request_to_json(request: ScriptRequest) -> bytes:
    """Return a request without the place of its tree on this machine."""
    return _dump(REQUEST, request)


def request_from_json(document: bytes, base_dir: Path) -> ScriptRequest:
    """Return the request in `document`, for a tree that scripts see at `base_dir`."""
    return _load(REQUEST, document, ScriptRequest, {"base_dir": base_dir})


def result_to_json(result: ScriptResult) -> bytes:
    """Encode a result; output is in base64, since it may be any bytes."""
    return _dump(RESULT, result)


def result_from_json(document: bytes) -> ScriptResult:
    """Return the result in `document`."""
    return _load(RESULT, document, ScriptResult, {})


def _dump(form: str, value: object) -> bytes:
    return json.dumps({"format": f"{form}/{VERSION}", **encode(value, _LOCAL)}).encode()


def _load(form: str, document: bytes, kind: type[T], local: Mapping[str, object]) -> T:
    try:
        data = parse_json(document)
    except ValueError as error:
        raise DocumentError(f"Not a {form}: not JSON") from error
    data = data if isinstance(data, dict) else {}
    found, _, version = str(data.pop("format", "")).rpartition("/")
    if found != form:
        raise DocumentError(f"Not a {form}: unexpected value in the field 'format'")
    if version != str(VERSION):
        raise DocumentError(
            f"Unsupported version {version} of a {form}; this skillkit reads version {VERSION}: "
            "run the same skillkit on both sides"
        )
    try:
        return decode(kind, data, given=local)
    except ShapeError as error:
        raise DocumentError(str(error)) from error
