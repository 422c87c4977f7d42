"""SkillMetadata as text and back; what does not come back exactly is not kept."""

import json
from collections.abc import Callable
from dataclasses import MISSING, fields
from pathlib import Path
from types import NoneType
from typing import Any

from skillkit.core.models import (
    Diagnostic,
    Permissions,
    Severity,
    SkillMetadata,
    SourceType,
    Triggers,
)
from skillkit.core.names import refusal

FORMAT = 1
"""Raised when a record written before cannot be read any more."""


def encode(skill: SkillMetadata) -> str | None:
    """One line of JSON, or None when the skill has a value that JSON would change."""
    record = {
        name: to_record(value)
        for name, (to_record, _) in _FIELDS.items()
        if (value := getattr(skill, name)) != _DEFAULTS.get(name)
    }
    try:
        text = json.dumps(record, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return None
    again = decode(text)
    if again is None or again != skill or again.diagnostics != skill.diagnostics:
        return None
    return text


def decode(text: str) -> SkillMetadata | None:
    """The skill, or None when the text is not what `encode` writes."""
    try:
        record = json.loads(text)
        if not isinstance(record, dict) or record.keys() - _FIELDS.keys():
            return None
        skill = SkillMetadata(**{name: _FIELDS[name][1](value) for name, value in record.items()})
    except (ValueError, TypeError, RecursionError):
        return None
    return None if refusal(skill.name) else skill


def _exactly(kind: type) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if type(value) is not kind:
            raise TypeError(f"expected {kind.__name__}")
        return value

    return check


_text, _flag, _whole = _exactly(str), _exactly(bool), _exactly(int)


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(_text(item) for item in _exactly(list)(value))


def _mapping(value: Any) -> dict[str, object]:
    found: dict[str, object] = _exactly(dict)(value)
    return found


def _triggers(value: Any) -> Triggers:
    return Triggers(*(_texts(part) for part in _exactly(list)(value)))


def _permissions(value: Any) -> Permissions:
    env, network, timeout = _exactly(list)(value)
    if type(timeout) not in (int, float, NoneType):
        raise TypeError("expected a number")
    return Permissions(_texts(env), _flag(network), timeout)


def _diagnostics(value: Any) -> tuple[Diagnostic, ...]:
    return tuple(
        Diagnostic(
            Path(_text(path)),
            _text(code),
            Severity(severity),
            _text(message),
            None if line is None else _whole(line),
            None if column is None else _whole(column),
        )
        for path, code, severity, message, line, column in _exactly(list)(value)
    )


def _same(value: Any) -> Any:
    return value


_CODECS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "skill_path": (str, lambda value: Path(_text(value))),
    "source": (lambda source: source.value, SourceType),
    "metadata": (dict, _mapping),
    "extra": (dict, _mapping),
    "triggers": (
        lambda triggers: [triggers.keywords, triggers.verbs, triggers.patterns],
        _triggers,
    ),
    "permissions": (lambda asked: [asked.env, asked.network, asked.timeout], _permissions),
    "diagnostics": (
        lambda found: [
            [str(one.path), one.code, one.severity.value, one.message, one.line, one.column] for one in found
        ],
        _diagnostics,
    ),
}
_TUPLES = frozenset({"allowed_tools", "toolsets", "scripts", "scripts_ignore", "required_commands"})
_FLAGS = frozenset({"disable_model_invocation", "user_invocable", "recovered"})
_FIELDS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    field.name: _CODECS.get(field.name)
    or ((list, _texts) if field.name in _TUPLES else (_same, _flag if field.name in _FLAGS else _text))
    for field in fields(SkillMetadata)
}
_DEFAULTS: dict[str, object] = {
    field.name: {} if field.default is MISSING else field.default
    for field in fields(SkillMetadata)
    if field.default is not MISSING or field.default_factory is not MISSING
}
