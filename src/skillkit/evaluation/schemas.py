"""JSON Schemas of the files that users write, generated from the readers' definitions."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from skillkit.core import fields
from skillkit.core.fields import FIELDS, FieldRule
from skillkit.core.names import MAX_NAME, STRICT_NAME
from skillkit.core.parser import MAX_COMPATIBILITY, MAX_DESCRIPTION
from skillkit.evaluation.formats import aliases, scenarios
from skillkit.evaluation.formats.items import TURNS, WITHIN
from skillkit.evaluation.formats.manifests import MANIFESTS
from skillkit.install.lockfile import FORMAT, MAX_SKILLS

Schema = dict[str, Any]
_DIALECT = "http://json-schema.org/draft-07/schema#"
"""The newest that the JSON support of VS Code takes without a warning."""
_SCALAR = ["string", "number", "boolean"]
"""The YAML types of an unquoted value; the readers use the text as written."""


def _any_case(words: frozenset[str]) -> str:
    spelled = ("".join(f"[{c.lower()}{c.upper()}]" if c.isalpha() else c for c in word) for word in words)
    return rf"^\s*(?:{'|'.join(sorted(spelled))})\s*$"


def _list_of(pattern: str | None = None) -> Schema:
    """Return the schema of one string or a list of them."""
    item: Schema = {"type": _SCALAR} | ({"pattern": pattern} if pattern else {})
    return {"anyOf": [item, {"type": "array", "items": item}]}


def _or_nothing(schema: Schema) -> Schema:
    """Return the schema of an optional field: null counts as absent."""
    return {"anyOf": [{"type": "null"}, schema]}


_TEXT: Schema = {"type": _SCALAR}
_GIVEN: Schema = {"type": _SCALAR, "pattern": r"\S"}
_FLAG: Schema = {
    "anyOf": [
        {"type": "boolean"},
        {"enum": [0, 1]},
        {"type": "string", "pattern": _any_case(fields.TRUE | fields.FALSE)},
    ]
}
_SCRIPT: Schema = {
    "anyOf": [
        _TEXT,
        {
            "type": "object",
            "required": ["name"],
            "properties": {"name": _GIVEN, "retry": {"enum": ["safe", "never"]}},
        },
    ]
}
_HOST = r"^(?:\$[A-Za-z_]\w*|(?:https?://)?(?:\*\.)?[\w-]+(?:\.[\w-]+)*\.?(?::[0-9]{1,5})?/?)$"
_SECRET: Schema = {
    "type": "object",
    "required": ["hosts"],
    "properties": {
        "hosts": _list_of(_HOST),
        "header": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9-]*$"},
    },
}
_PERMISSIONS: Schema = {
    "type": "object",
    "properties": {
        "env": _or_nothing(_list_of(rf"^\s*(?:{fields.ENVIRONMENT_NAME.pattern})\s*$")),
        "hosts": _or_nothing(_list_of(_HOST)),
        "network": _or_nothing(_FLAG),
        "timeout": {"type": ["number", "string", "null"], "exclusiveMinimum": 0},
        "secrets": _or_nothing(
            {
                "type": "object",
                "propertyNames": {"pattern": f"^{fields.SECRET_NAME.pattern}$"},
                "additionalProperties": _SECRET,
            }
        ),
    },
}
_NEEDS: Schema = {
    "anyOf": [
        {"type": "array", "items": _TEXT},
        {
            "type": "object",
            "properties": {
                **dict.fromkeys(("commands", "bins", "env", "skills"), _or_nothing(_list_of())),
                "mcp": {"anyOf": [_or_nothing(_list_of()), {"type": "object"}]},
                "python": _or_nothing(_TEXT),
            },
        },
    ]
}
_OF_READER: Mapping[Callable[..., object], Schema] = MappingProxyType(
    {
        fields.text: _TEXT,
        fields.text_as_specified: _GIVEN,
        fields.hint: _list_of(),
        fields.semver: {"type": _SCALAR, "pattern": rf"^\s*(?:{fields.SEMVER.pattern})\s*$"},
        fields.flag: _FLAG,
        fields.texts: _list_of(),
        fields.words: _list_of(),
        fields.globs: _list_of(),
        fields.tools: {"type": [*_SCALAR, "array"]},
        # Commas are allowed only within parentheses.
        fields.tools_as_specified: {
            "type": _SCALAR,
            "allOf": [{"pattern": r"\S"}, {"pattern": r"^(?:[^,(]|\([^()]*\)|\()*$"}],
        },
        fields.mapping: {"type": "object"},
        fields.mapping_as_specified: {"type": "object", "additionalProperties": {"type": "string"}},
        fields.scripts: {"anyOf": [_TEXT, {"type": "array", "items": _SCRIPT}]},
        fields.triggers: {
            "anyOf": [
                _list_of(),
                {
                    "type": "object",
                    "properties": dict.fromkeys(fields.TRIGGER_KINDS, _or_nothing(_list_of())),
                },
            ]
        },
        fields.permissions: _PERMISSIONS,
        fields.requirements: _NEEDS,
    }
)
_NARROWER: Mapping[str, Schema] = MappingProxyType(
    {
        "name": {"type": _SCALAR, "pattern": rf"^\s*(?:{STRICT_NAME.pattern})\s*$", "maxLength": MAX_NAME},
        "description": {**_GIVEN, "maxLength": MAX_DESCRIPTION},
        "compatibility": {**_GIVEN, "maxLength": MAX_COMPATIBILITY},
    }
)


def _field(name: str, rule: FieldRule) -> Schema:
    if name in _NARROWER:
        required = name != "compatibility"
        return _NARROWER[name] if required else _or_nothing(_NARROWER[name])
    return _or_nothing(_OF_READER[rule.as_specified or rule.read])


def _header() -> Schema:
    return {
        "title": "Header of a SKILL.md",
        "type": "object",
        "required": ["name", "description"],
        "properties": {name: _field(name, rule) for name, rule in FIELDS.items()},
    }


_SKILL = {key: {"type": "string"} for key in aliases.FIELDS["skill"]}


def _cases() -> Schema:
    prompts = aliases.FIELDS["prompt"]
    text: Schema = {"type": "string", "pattern": r"\S"}
    within = {"type": "object", "anyOf": [{"required": [key]} for key in prompts]}
    turns = {"type": "array", "minItems": 1}
    case: Schema = {
        "type": "object",
        "properties": {
            **_SKILL,
            "prompt": {"type": "string", "minLength": 1},
            "expected_output": {"type": "string"},
            "files": {"type": ["array", "object"]},
            "expectations": {"type": "array", "items": {"type": ["string", "object"]}},
            "assertions": {"type": ["array", "object", "string"]},
            "should_trigger": {"type": ["boolean", "string", "array", "null"]},
        },
        "anyOf": [
            *({"required": [key], "properties": {key: text}} for key in (*prompts, "script")),
            *({"required": [key], "properties": {key: within}} for key in WITHIN),
            *({"required": [key], "properties": {key: turns}} for key in (*TURNS, "queries")),
        ],
    }
    cases = {"type": "array", "minItems": 1, "items": case}
    requests = {"type": "array", "minItems": 1, "items": {"anyOf": [text, case]}}
    by_verdict = {*aliases.LISTS["positive"], *aliases.LISTS["negative"]}
    lists: dict[str, object] = {
        # A mapping holds lists again, such as those of `train` and `val`.
        key: {
            "anyOf": [
                {"type": "object"},
                requests if key in {*by_verdict, *aliases.LISTS["texts"]} else cases,
            ]
        }
        for key in sorted(by_verdict.union(aliases.LISTS["cases"]))
    }
    lists |= dict.fromkeys(scenarios.LISTS, cases)
    return {
        "title": "evals.json: cases of a skill",
        "anyOf": [
            case,
            cases,
            {
                "type": "object",
                "anyOf": [{"required": [key]} for key in (*lists, *MANIFESTS)],
                "properties": {**_SKILL, **lists},
            },
        ],
    }


def _lock() -> Schema:
    digest = {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}
    ours: Schema = {
        "type": "object",
        "required": ["source", "revision", "digest", "files"],
        "properties": {
            "source": {"type": "object"},
            "revision": {"type": ["string", "null"]},
            "digest": digest,
            "files": {"type": "object"},
        },
    }
    entry = {
        "type": "object",
        "properties": {"skillkit": ours},
        "anyOf": [{"required": [key]} for key in ("skillkit", "computedHash", "sourceType")],
    }
    return {
        "title": "skills-lock.json",
        "type": "object",
        "required": ["version", "skills"],
        "properties": {
            "version": {"const": FORMAT},
            "skills": {"type": "object", "maxProperties": MAX_SKILLS, "additionalProperties": entry},
        },
    }


SCHEMAS: Mapping[str, Callable[[], Schema]] = MappingProxyType(
    {
        "skill": _header,
        "evals": _cases,
        "permissions": lambda: {"title": "permissions: in the header of a SKILL.md", **_PERMISSIONS},
        "lock": _lock,
    }
)
"""Schemas by the argument of `agent skill schema`."""


def schema(name: str) -> Schema:
    """Return the schema called `name`."""
    return {"$schema": _DIALECT, **SCHEMAS[name]()}
