"""JSON documents against what was expected: a subset, or a schema."""

import json
from collections.abc import Iterator, Mapping, Sequence

LONGEST_PATTERN = 1000
LONGEST_TEXT = 1 << 20
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (Mapping,),
    "array": (list, tuple),
    "string": (str,),
    "boolean": (bool,),
    "null": (type(None),),
    "number": (int, float),
    "integer": (int,),
}
_KNOWN = frozenset(
    """
    type properties required items enum const minimum maximum exclusiveMinimum exclusiveMaximum minLength
    maxLength minItems maxItems pattern additionalProperties anyOf oneOf allOf not uniqueItems minProperties
    maxProperties
    """.split()
)
_SAYS_NOTHING = frozenset("$schema $id title description default examples format $comment".split())


class NotJudgedError(ValueError):
    """A check that cannot be judged here, and why."""


def find_pattern(pattern: str, text: str, flags: str = "") -> str:
    """Return what a pattern of somebody else finds; a blank for an empty find, nothing for none.

    RE2 alone: its time is linear in the text. What it does not know (look-arounds, references to groups) and
    what is too long is not judged.
    """
    if len(pattern) > LONGEST_PATTERN:
        raise NotJudgedError(f"the pattern is longer than {LONGEST_PATTERN:,} characters")
    if len(text) > LONGEST_TEXT:
        raise NotJudgedError(f"the text is longer than {LONGEST_TEXT:,} characters")
    try:
        import re2
    except ImportError as error:
        raise NotJudgedError("patterns need RE2: pip install google-re2") from error
    options = re2.Options()
    options.log_errors = False
    try:
        found = re2.compile(f"{flags}{pattern}", options).search(text)
    except re2.error as error:
        raise NotJudgedError(f"the pattern cannot be used: {str(error)[:200]}") from error
    return (found.group() or " ") if found else ""


def subset_differences(expected: object, found: object, place: str = "") -> Iterator[str]:
    """Where `found` lacks something of `expected`; what it has besides does not matter."""
    if isinstance(expected, Mapping):
        if not isinstance(found, Mapping):
            yield f"{place or 'the document'}: expected an object, found {_shown(found)}"
            return
        for key, value in expected.items():
            where = f"{place}.{key}" if place else str(key)
            if key not in found:
                yield f"{where}: missing, expected {_shown(value)}"
            else:
                yield from subset_differences(value, found[key], where)
    elif isinstance(expected, list):
        if not isinstance(found, list) or len(found) < len(expected):
            yield f"{place or 'the document'}: expected {_shown(expected)}, found {_shown(found)}"
            return
        for number, (wanted, value) in enumerate(zip(expected, found, strict=False)):
            yield from subset_differences(wanted, value, f"{place}[{number}]")
    elif expected != found or isinstance(expected, bool) != isinstance(found, bool):
        yield f"{place or 'the document'}: expected {_shown(expected)}, found {_shown(found)}"


def schema_differences(schema: Mapping[str, object], found: object, place: str = "") -> Iterator[str]:
    """Where `found` breaks a JSON schema of the usual keywords; a keyword that is not known is an error."""
    unknown = set(schema) - _KNOWN - _SAYS_NOTHING
    if unknown:
        raise NotJudgedError(f"the schema uses {', '.join(sorted(unknown))}, which is not checked")
    where = place or "the document"
    types = schema.get("type")
    if types is not None and not any(_is(found, str(name)) for name in _listed(types)):
        yield f"{where}: expected {' or '.join(map(str, _listed(types)))}, found {_shown(found)}"
        return
    if "enum" in schema and found not in _listed(schema["enum"]):
        yield f"{where}: {_shown(found)} is none of {_shown(schema['enum'])}"
    if "const" in schema and found != schema["const"]:
        yield f"{where}: expected {_shown(schema['const'])}, found {_shown(found)}"
    yield from _combined(schema, found, place)
    if isinstance(found, Mapping):
        yield from _of_object(schema, found, place)
    elif isinstance(found, list):
        yield from _of_array(schema, found, place)
    elif isinstance(found, str):
        yield from _limits(schema, len(found), "Length", f"length of {where}")
        pattern = schema.get("pattern")
        if isinstance(pattern, str) and not find_pattern(pattern, found):
            yield f"{where}: {_shown(found)} does not match {pattern}"
    elif isinstance(found, int | float) and not isinstance(found, bool):
        yield from _limits(schema, found, "imum", where)
        if isinstance(least := schema.get("exclusiveMinimum"), int | float) and found <= least:
            yield f"{where}: {found} is not more than {least}"
        if isinstance(most := schema.get("exclusiveMaximum"), int | float) and found >= most:
            yield f"{where}: {found} is not less than {most}"


def _combined(schema: Mapping[str, object], found: object, place: str) -> Iterator[str]:
    for name, most in (("anyOf", None), ("oneOf", 1)):
        parts = [part for part in _listed(schema.get(name, [])) if isinstance(part, Mapping)]
        fitting = sum(not any(schema_differences(part, found, place)) for part in parts)
        if parts and not 0 < fitting <= (most or len(parts)):
            yield f"{place or 'the document'}: fits {fitting} of {name}"
    for part in _listed(schema.get("allOf", [])):
        if isinstance(part, Mapping):
            yield from schema_differences(part, found, place)
    refused = schema.get("not")
    if isinstance(refused, Mapping) and not any(schema_differences(refused, found, place)):
        yield f"{place or 'the document'}: is what it must not be"


def _of_object(schema: Mapping[str, object], found: Mapping[str, object], place: str) -> Iterator[str]:
    properties = schema.get("properties")
    known = properties if isinstance(properties, Mapping) else {}
    for name in _listed(schema.get("required", [])):
        if name not in found:
            yield f"{place or 'the document'}: has no {name}"
    for name, part in known.items():
        if name in found and isinstance(part, Mapping):
            yield from schema_differences(part, found[name], f"{place}.{name}" if place else str(name))
    rest = schema.get("additionalProperties")
    for name in found.keys() - known.keys():
        if rest is False:
            yield f"{place or 'the document'}: has {name} besides"
        elif isinstance(rest, Mapping):
            yield from schema_differences(rest, found[name], f"{place}.{name}" if place else str(name))
    yield from _limits(schema, len(found), "Properties", f"size of {place or 'the document'}")


def _of_array(schema: Mapping[str, object], found: Sequence[object], place: str) -> Iterator[str]:
    yield from _limits(schema, len(found), "Items", f"length of {place or 'the document'}")
    items = schema.get("items")
    if isinstance(items, Mapping):
        for number, item in enumerate(found):
            yield from schema_differences(items, item, f"{place}[{number}]")
    if schema.get("uniqueItems") is True and len({_shown(item) for item in found}) < len(found):
        yield f"{place or 'the document'}: has items twice"


def _limits(schema: Mapping[str, object], size: float, name: str, what: str) -> Iterator[str]:
    least, most = schema.get(f"min{name}"), schema.get(f"max{name}")
    if isinstance(least, int | float) and size < least:
        yield f"{what}: {size} is less than {least}"
    if isinstance(most, int | float) and size > most:
        yield f"{what}: {size} is more than {most}"


def _is(found: object, name: str) -> bool:
    if isinstance(found, bool) and name in ("number", "integer"):
        return False
    if name == "integer" and isinstance(found, float):
        return found.is_integer()
    return isinstance(found, _TYPES.get(name, (object,)))


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str, sort_keys=True)
    return text if len(text) <= 80 else f"{text[:79]}…"
