"""Compare JSON documents with expectations: a subset, or a schema."""

import json
from collections.abc import Iterator, Mapping

LONGEST_PATTERN = 1000
LONGEST_TEXT = 1 << 20
_UNSUPPORTED = ("$ref", "$dynamicRef", "patternProperties", "unevaluatedItems", "unevaluatedProperties")
"""Schema keywords that may take exponential time, or that jsonschema matches with `re`."""


class NotJudgedError(ValueError):
    """Raised if a check cannot be judged, with the reason."""


def find_pattern(pattern: str, text: str, flags: str = "") -> str:
    """Return the match of a third-party pattern; a blank for an empty match, an empty string for none.

    Only RE2 is used: its time is linear in the text. Unsupported syntax (lookarounds, backreferences) and
    patterns that are too long are not judged.
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
    """Yield where `found` lacks parts of `expected`; additional content is ignored."""
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


def schema_differences(schema: Mapping[str, object], found: object) -> Iterator[str]:
    """Yield where `found` violates a JSON schema; patterns are matched by RE2."""
    try:
        from jsonschema import (  # type: ignore[import-untyped]
            Draft202012Validator,
            SchemaError,
            ValidationError,
            validators,
        )
    except ImportError as error:
        raise NotJudgedError("JSON schemas need jsonschema: pip install jsonschema") from error

    def matches(_: object, pattern: str, value: object, __: object) -> Iterator[Exception]:
        if isinstance(value, str) and not find_pattern(pattern, value):
            yield ValidationError(f"{_shown(value)} does not match {pattern}")

    unknown = [word for word in _UNSUPPORTED if word in _keywords(schema)]
    if unknown:
        raise NotJudgedError(f"the schema uses {', '.join(unknown)}, which is not checked")
    kind = validators.extend(validators.validator_for(schema, Draft202012Validator), {"pattern": matches})
    try:
        kind.check_schema(schema)
        for each in kind(schema).iter_errors(found):
            yield f"{each.json_path}: {each.message[:200]}"
    except (SchemaError, RecursionError) as error:
        raise NotJudgedError(f"the schema cannot be used: {str(error).splitlines()[0][:200]}") from error


def _keywords(schema: object) -> set[str]:
    waiting, found = [schema], set[str]()
    while waiting:
        match waiting.pop():
            case Mapping() as part:
                found.update(map(str, part))
                waiting += part.values()
            case list() as parts:
                waiting += parts
    return found


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str, sort_keys=True)
    return text if len(text) <= 80 else f"{text[:79]}…"
