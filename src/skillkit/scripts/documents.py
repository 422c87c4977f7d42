"""Requests and results as JSON: how another engine gets a run and hands back what came of it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from skillkit.core.codec import ShapeError, decode, encode
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
    return json.dumps({"format": f"{form}/{VERSION}", **encode(value, _LOCAL)}).encode()


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
    try:
        return decode(kind, data, given=local)
    except ShapeError as error:
        raise DocumentError(str(error)) from error
