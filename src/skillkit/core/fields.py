"""The fields of a manifest: one reader for each kind of value, one row for each field."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from skillkit.core.hosts import is_request
from skillkit.core.models import (
    NO_PERMISSIONS,
    NO_TRIGGERS,
    DeclaredScript,
    Permissions,
    Requirements,
    SecretRequest,
    Triggers,
)
from skillkit.core.simple_header import Value, shared
from skillkit.core.text import escape_hidden

TRUE = frozenset({"true", "yes", "on", "1"})
FALSE = frozenset({"false", "no", "off", "0"})
SEMVER = re.compile(r"\d+\.\d+(\.\d+)?([-+][0-9A-Za-z.-]+)?")
TRIGGER_KINDS = ("keywords", "verbs", "patterns")
SECRET_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_HEADER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,63}")
ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\*?")


class WrongTypeError(ValueError):
    """The value is invalid for the field; the message says what is expected."""


def text(value: Value) -> str:
    if isinstance(value, str):
        return value.strip()
    raise WrongTypeError("text")


def text_as_specified(value: Value) -> str:
    if found := text(value):
        return found
    raise WrongTypeError("a non-empty string")


def hint(value: Value) -> str:
    """`[file]` is a list to YAML and a string to whoever writes it."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return f"[{', '.join(value)}]"
    return text(value)


def semver(value: Value) -> str:
    if isinstance(value, str) and SEMVER.fullmatch(value.strip()):
        return value.strip()
    raise WrongTypeError("a version such as 1.2.0")


def flag(value: Value) -> bool:
    word = value.strip().lower() if isinstance(value, str) else ""
    if word in TRUE or word in FALSE:
        return word in TRUE
    raise WrongTypeError("true or false")


def texts(value: Value) -> tuple[str, ...]:
    """Read a list of strings; a single string is a list of one."""
    if isinstance(value, str):
        return (value.strip(),) if value.strip() else ()
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(item.strip() for item in value if item.strip())
    raise WrongTypeError("a list of strings")


def scripts(value: Value) -> tuple[DeclaredScript, ...]:
    """Read names of scripts, or mappings of `name` and `retry: safe`."""
    return tuple(map(_script, value if isinstance(value, list) else texts(value)))


def _script(entry: Value) -> DeclaredScript:
    if isinstance(entry, str):
        return DeclaredScript(entry.strip())
    name, retry = (entry.get("name"), entry.get("retry", "never")) if isinstance(entry, dict) else ("", "")
    if isinstance(name, str) and name.strip() and retry in ("safe", "never"):
        script = DeclaredScript(name.strip())
        script.retry_safe = retry == "safe"
        return script
    raise WrongTypeError("a list of names, or of mappings with a name and retry: safe or never")


def words(value: Value) -> tuple[str, ...]:
    """Read a list of words, or a string with spaces between them."""
    return tuple(value.split()) if isinstance(value, str) else texts(value)


def globs(value: Value) -> tuple[str, ...]:
    """Read a list of patterns, or a string separated by commas; a comma in braces is part of a pattern."""
    if not isinstance(value, str):
        return texts(value)
    return tuple(part.strip() for part in re.split(r",(?![^{}]*\})", value) if part.strip())


def tools(value: Value) -> tuple[str, ...]:
    """Read names of tools: a list, or a string with commas or spaces between them."""
    if isinstance(value, list):
        return tuple(item.strip() for item in value if isinstance(item, str) and item.strip())
    if isinstance(value, str):
        return _split_outside_parentheses(value)
    raise WrongTypeError("a list, or a string with spaces or commas")


def tools_as_specified(value: Value) -> tuple[str, ...]:
    if isinstance(value, str) and value.strip() and "," not in re.sub(r"\([^()]*\)", "", value):
        return tools(value)
    raise WrongTypeError("a non-empty string with spaces between the tools")


def mapping(value: Value) -> Mapping[str, object]:
    if isinstance(value, dict):
        return value
    raise WrongTypeError("a mapping")


def mapping_as_specified(value: Value) -> Mapping[str, object]:
    entries = mapping(value)
    if all(isinstance(entry, str) for entry in entries.values()):
        return entries
    raise WrongTypeError("a mapping of strings")


def triggers(value: Value) -> Triggers:
    if isinstance(value, dict):
        return Triggers(**{kind: texts(_given(value).get(kind, [])) for kind in TRIGGER_KINDS})
    try:
        keywords = texts(value)
    except WrongTypeError:
        raise WrongTypeError("a list of strings, or a mapping of keywords, verbs, patterns") from None
    return Triggers(keywords=keywords) if keywords else NO_TRIGGERS


def trigger_problems(value: Value) -> Iterator[str]:
    """Yield problems of triggers that can be read: entries that never match."""
    kinds = _given(value) if isinstance(value, dict) else {"keywords": value}
    for kind in kinds.keys() - set(TRIGGER_KINDS):
        yield f"Field 'triggers' has an unknown kind '{escape_hidden(kind)}'; use keywords, verbs or patterns"
    for kind in TRIGGER_KINDS:
        entries = kinds.get(kind) or []
        for entry in entries if isinstance(entries, list) else [entries]:
            if not (isinstance(entry, str) and entry.strip()):
                yield f"Field 'triggers' has an empty entry in {kind}; it is left out"
            elif kind == "patterns" and (problem := _pattern_problem(entry)):
                yield f"Pattern '{escape_hidden(entry)}' in 'triggers' never matches: {problem}"


def _pattern_problem(pattern: str) -> str | None:
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return str(error)
    return None


def _given(value: dict[str, Value]) -> dict[str, Value]:
    """Return the entries of a mapping that have a value."""
    return {key: entry for key, entry in value.items() if entry is not None}


def permissions(value: Value) -> Permissions:
    """Read the requested permissions; an invalid part is not requested."""
    if not isinstance(value, dict):
        raise WrongTypeError("a mapping of env, hosts, network, secrets, timeout")
    value = _given(value)
    names = texts(value.get("env", []))
    if not all(ENVIRONMENT_NAME.fullmatch(name) for name in names):
        raise WrongTypeError("names of environment variables in env, such as API_KEY or API_*")
    hosts = texts(value.get("hosts", []))
    if not all(map(is_request, hosts)):
        raise WrongTypeError("names of hosts in hosts, such as api.example.com or *.example.com:8443")
    asked = Permissions(
        env=names,
        hosts=hosts,
        network=flag(value.get("network", "false")),
        timeout=_seconds(value.get("timeout")),
        secrets=_secrets(value.get("secrets", {})),
    )
    return asked or NO_PERMISSIONS


def _secrets(value: Value) -> tuple[SecretRequest, ...]:
    wrong = WrongTypeError("in secrets a mapping of NAME to hosts and header")
    if not isinstance(value, dict):
        raise wrong
    found = []
    for name, rule in value.items():
        if not isinstance(rule, dict) or not SECRET_NAME.fullmatch(name):
            raise wrong
        hosts = texts(rule.get("hosts", []))
        header = rule.get("header", "Authorization")
        if not hosts or not all(is_request(host) and not host.startswith("$") for host in hosts):
            raise wrong
        if not isinstance(header, str) or not _HEADER_NAME.fullmatch(header):
            raise wrong
        found.append(SecretRequest(name, hosts, header))
    return tuple(found)


def requirements(value: Value) -> Requirements:
    """Read the requirements, in the spellings of several clients; a list names other skills."""
    if isinstance(value, list):
        return Requirements(skills=texts(value))
    if not isinstance(value, dict):
        raise WrongTypeError("a mapping of commands, env, skills, mcp, python, or a list of skills")
    value = _given(value)
    python = value.get("python")
    return Requirements(
        commands=texts(value.get("commands", [])) + texts(value.get("bins", [])),
        env=texts(value.get("env", [])),
        skills=texts(value.get("skills", [])),
        mcp=texts(list(mcp) if isinstance(mcp := value.get("mcp", []), dict) else mcp),
        python=text(python) if python is not None else None,
    )


def nested_requirements(metadata: Mapping[str, object]) -> Requirements | None:
    """Return what OpenClaw, under each of its names, reads in `metadata`; None if there is nothing."""
    for client in ("openclaw", "clawdbot", "clawdis"):
        settings = metadata.get(client)
        if isinstance(settings, dict) and isinstance(settings.get("requires"), dict):
            try:
                return requirements(settings["requires"])
            except WrongTypeError:
                return None
    return None


def _seconds(value: Value) -> float | None:
    if value is None:
        return None
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        raise WrongTypeError("a number of seconds in timeout") from None
    if not 0 < seconds < float("inf"):
        raise WrongTypeError("a positive number of seconds in timeout")
    return seconds


def _split_outside_parentheses(value: str) -> tuple[str, ...]:
    if "(" not in value:
        return tuple(map(shared, value.replace(",", " ").split()))
    names: list[str] = []
    start = depth = 0
    for position, character in enumerate(value):
        if character == "(":
            depth += 1
        elif character == ")":
            depth = max(0, depth - 1)
        elif depth == 0 and (character == "," or character.isspace()):
            names.append(value[start:position])
            start = position + 1
    names.append(value[start:])
    return tuple(name for name in names if name)


class FieldRule(NamedTuple):
    """How a field of the header becomes an attribute of SkillMetadata."""

    attribute: str
    read: Callable[[Value], object]
    specified: bool = False
    """One of the six fields of the Agent Skills specification."""
    as_specified: Callable[[Value], object] | None = None
    """A narrower reader for `strict`, where the specification accepts less than we do."""
    denied: bool | None = None
    """Value used if the field is invalid, where absent would allow more."""


FIELDS: Mapping[str, FieldRule] = MappingProxyType(
    {
        "name": FieldRule("name", text, specified=True),
        "description": FieldRule("description", text, specified=True),
        "license": FieldRule("license", text, specified=True, as_specified=text_as_specified),
        "compatibility": FieldRule("compatibility", text, specified=True, as_specified=text_as_specified),
        "metadata": FieldRule("metadata", mapping, specified=True, as_specified=mapping_as_specified),
        "allowed-tools": FieldRule("allowed_tools", tools, specified=True, as_specified=tools_as_specified),
        "version": FieldRule("version", text),
        "author": FieldRule("author", text),
        "repository": FieldRule("repository", text),
        "model": FieldRule("model", text),
        "disable-model-invocation": FieldRule("disable_model_invocation", flag, denied=True),
        "user-invocable": FieldRule("user_invocable", flag, denied=False),
        "argument-hint": FieldRule("argument_hint", hint),
        "arguments": FieldRule("argument_names", words),
        "when_to_use": FieldRule("when_to_use", text),
        "disallowed-tools": FieldRule("disallowed_tools", tools),
        "paths": FieldRule("paths", globs),
        "effort": FieldRule("effort", text),
        "context": FieldRule("context", text),
        "agent": FieldRule("agent", text),
        "background": FieldRule("background", flag),
        "shell": FieldRule("shell", text),
        "hooks": FieldRule("hooks", mapping),
        "triggers": FieldRule("triggers", triggers),
        "toolsets": FieldRule("toolsets", texts),
        "scripts": FieldRule("scripts", scripts),
        "scripts_ignore": FieldRule("scripts_ignore", texts),
        "permissions": FieldRule("permissions", permissions),
        "requires": FieldRule("requires", requirements),
        "depends": FieldRule("depends", texts),
        "min_agent_base_version": FieldRule("min_agent_base_version", semver),
        "max_agent_base_version": FieldRule("max_agent_base_version", semver),
    }
)
KNOWN = frozenset(FIELDS)
TYPED_WHEN_STRICT = KNOWN - {"metadata"}
"""The specification requires strings in `metadata`; elsewhere a number is read as the string it is."""
GRANTS = frozenset({"permissions", "toolsets", "allowed_tools"})
"""Attributes that a skill never gains by recovery of its header."""


def correct_spelling(key: str) -> str | None:
    """Return the field that `key` misspells, such as `allowed-tools` for `allowedTools`."""
    spelled = re.sub(r"[\s_-]+", "", key).lower()
    return _SPELLINGS.get(spelled)


_SPELLINGS = {name.replace("-", "").replace("_", ""): name for name in FIELDS} | {
    "tools": "allowed-tools",
    "allowedtool": "allowed-tools",
    "licence": "license",
}


@lru_cache(maxsize=512)
def unknown_field(key: str) -> tuple[str, str]:
    """Return code and message about an unknown field; the same few occur in most files."""
    shown = escape_hidden(key)
    if (correct := correct_spelling(key)) is not None:
        return "misspelled-field", f"Possible typo: '{shown}' should be '{correct}'"
    return "unknown-field", f"Field '{shown}' is unknown and kept in `extra`"
