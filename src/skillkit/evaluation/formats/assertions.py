"""Convert assertions and graders of every format to checks."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from skillkit.evaluation.cases import Check, CheckKind
from skillkit.evaluation.formats.aliases import CHECKS, FIELDS
from skillkit.evaluation.formats.document import mapping_of, mappings_of, number_of, text_of, texts_of

_QUOTED = r"(?:`[^`\n]{1,200}`|\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”)"
_FORM = re.compile(
    r"(?:The )?(?:output |response |answer )?"
    r"(?P<verb>contains|includes|mentions|does not (?:contain|include|mention)) "
    rf"(?P<list>{_QUOTED}(?:(?:,| and| or|, and|, or) {_QUOTED})*)\.?",
    re.IGNORECASE,
)


def checks_of(value: object) -> tuple[Check, ...]:
    """Return the checks for a list of sentences and objects, or for one of Waza's graders."""
    if isinstance(value, str):
        value = [value]
    if isinstance(value, Mapping):
        value = [value] if "type" in value else [{"type": key, "value": each} for key, each in value.items()]
    found: list[Check] = []
    for each in value if isinstance(value, list) else ():
        if isinstance(each, str) and each.strip():
            found.append(check_of_statement(each))
        elif isinstance(each, Mapping):
            found.extend(_of_object(each))
    return tuple(found)


def check_of_statement(sentence: str) -> Check:
    """Return the check for a sentence in the documented form, or a statement for the judge."""
    text = " ".join(sentence.split())
    found = _FORM.fullmatch(text)
    if found is None:
        return Check(CheckKind.STATEMENT, text=text)
    kind = CheckKind.EXCLUDES if "not" in found["verb"].lower() else CheckKind.CONTAINS
    literals = tuple(quoted[1:-1] for quoted in re.findall(_QUOTED, found["list"]))
    between = re.sub(_QUOTED, "", found["list"])
    any_of = kind is CheckKind.CONTAINS and " or" in between
    return Check(kind, literals, any_of=any_of, text=text, compiled=True)


def judged(sentences: object) -> tuple[Check, ...]:
    """Return statements for the judge from the sentences of a rubric."""
    return tuple(Check(CheckKind.STATEMENT, text=text) for text in texts_of(sentences))


def _of_object(assertion: Mapping[str, object]) -> Iterator[Check]:
    kind_name = _normal(text_of(assertion, "type", "kind", "grader", "method", "assertion_type"))
    config = mapping_of(assertion.get("config"))
    words = text_of(assertion, *FIELDS["check_words"])
    if special := _SPECIAL.get(kind_name):
        yield from special(config or assertion, words)
        return
    kind = CHECKS.get(kind_name)
    source = {**assertion, **config}
    values = next((found for key in FIELDS["check_values"] if (found := texts_of(source.get(key)))), ())
    if kind is None and not kind_name:
        kind = CheckKind.CONTAINS if values else CheckKind.STATEMENT
    if kind is None:
        yield Check(CheckKind.UNKNOWN, values, text=words or kind_name, note=f"unknown kind '{kind_name}'")
    elif kind is CheckKind.STATEMENT:
        yield Check(kind, text=text_of(source, "prompt", "rubric", "criteria") or words or " ".join(values))
    elif kind in _OF_LIMITS:
        yield _of_limit(kind, source, words)
    elif kind is CheckKind.CHECKER:
        command = texts_of(source.get("command")) + texts_of(source.get("args"))
        yield Check(kind, command or values, limit=number_of(source.get("expected_exit_code")), text=words)
    elif kind in (CheckKind.JSON_SCHEMA, CheckKind.JSON_SUBSET):
        data = next((source[key] for key in ("schema", "value", "expected", "json") if key in source), None)
        yield Check(kind, path=text_of(source, "path", "file"), data=data, text=words)
    elif kind in _OF_TOOLS:
        yield _of_tools(kind, source, words)
    elif kind in _OF_SKILLS:
        names = texts_of(source.get("required") or source.get("required_skills")) or values
        names = names or texts_of(source.get("skill_name") or source.get("expected_skill"))
        yield Check(kind, names, text=words)
    elif kind.value.startswith("file-"):
        path = text_of(source, "path", "file", "filename", "glob") or (values[0] if values else "")
        plain = Check(kind, values, path=path, same_case=True, text=words)
        yield from list(_file_grader(config, words)) or [plain]
    elif values:
        yield Check(kind, values, any_of="any" in kind_name, text=words)
    else:
        # The type names the author's method, the sentence the condition; only the sentence is available.
        yield check_of_statement(words) if words else Check(CheckKind.UNKNOWN, note="says nothing")


_OF_LIMITS = (
    CheckKind.COMPLETED,
    CheckKind.MAX_TOKENS,
    CheckKind.MAX_SECONDS,
    CheckKind.MAX_TOOL_CALLS,
)
_LIMIT_KEYS = ("value", "max", "limit", "maximum", "threshold", "expected")
_OF_TOOLS = (CheckKind.TOOL_CALLS, CheckKind.TOOLS_ABSENT)
_OF_SKILLS = (CheckKind.SKILL_LOADED, CheckKind.SKILL_NOT_LOADED)


def _of_limit(kind: CheckKind, source: Mapping[str, object], words: str) -> Check:
    """Return the check of a limit of tokens, time or calls, or of a completed run."""
    if kind is CheckKind.COMPLETED:
        return Check(kind, text=words)
    limits = (number_of(source.get(key)) for key in _LIMIT_KEYS)
    limit = next((limit for limit in limits if limit is not None), None)
    if limit is None:
        return Check(CheckKind.UNKNOWN, text=words or kind.value, note="says no limit")
    return Check(kind, limit=limit, text=words)


def _of_tools(kind: CheckKind, source: Mapping[str, object], words: str) -> Check:
    """Return the check of tool names, and of patterns for the arguments of a call."""
    names: list[str] = []
    patterns: list[str | Mapping[str, object] | None] = []
    required = source.get("required") or source.get("tools") or source.get("value") or source.get("tool_name")
    for each in required if isinstance(required, list) else [required]:
        if isinstance(each, str):
            names.append(each)
            patterns.append(None)
        elif isinstance(each, Mapping) and (name := text_of(each, "name", "tool", "tool_name")):
            names.append(name)
            given = each.get("arguments")
            pattern = text_of(each, "path", "pattern", "arguments", "command_pattern") or None
            patterns.append(given if isinstance(given, Mapping) else pattern)
    if names and (pattern := text_of(source, "command_pattern")):
        patterns[0] = pattern
    data = patterns if any(each is not None for each in patterns) else None
    return Check(kind, tuple(names), ordered=source.get("ordered") is True, data=data, text=words)


def _listed(
    table: Mapping[str, Check], source: Mapping[str, object], words: str = "", path: str = ""
) -> Iterator[Check]:
    """Yield the check of each field of `table` that has values."""
    for key, check in table.items():
        if values := texts_of(source.get(key)):
            yield replace(check, values=values, path=path, text=words)


_TEXTS = {
    "contains": Check(CheckKind.CONTAINS),
    "contains_cs": Check(CheckKind.CONTAINS, same_case=True),
    "not_contains": Check(CheckKind.EXCLUDES),
    "not_contains_cs": Check(CheckKind.EXCLUDES, same_case=True),
    "regex_match": Check(CheckKind.MATCHES, same_case=True),
    "regex_not_match": Check(CheckKind.NOT_MATCHES, same_case=True),
    "contains_any": Check(CheckKind.CONTAINS, any_of=True),
}
_PATTERNS = {
    "must_match": Check(CheckKind.FILE_MATCHES, same_case=True),
    "must_not_match": Check(CheckKind.FILE_NOT_MATCHES, same_case=True),
}
_TOOLS = {
    "required_tools": Check(CheckKind.TOOL_CALLS),
    "forbidden_tools": Check(CheckKind.TOOLS_ABSENT),
}


def _file_grader(config: Mapping[str, object], words: str) -> Iterator[Check]:
    for key, kind in (("must_exist", CheckKind.FILE_EXISTS), ("must_not_exist", CheckKind.FILE_ABSENT)):
        for path in texts_of(config.get(key)):
            yield Check(kind, path=path, text=words)
    for each in mappings_of(config.get("content_patterns")):
        yield from _listed(_PATTERNS, each, words, text_of(each, "path"))


def _behaviour_grader(config: Mapping[str, object], words: str) -> Iterator[Check]:
    """Yield the checks of Waza's `behavior` grader, and of the `behavior` part of a task's expectations."""
    for key, kind, scale in (
        ("max_tokens", CheckKind.MAX_TOKENS, 1.0),
        ("max_duration_ms", CheckKind.MAX_SECONDS, 0.001),
        ("max_tool_calls", CheckKind.MAX_TOOL_CALLS, 1.0),
    ):
        if (limit := number_of(config.get(key))) is not None:
            yield Check(kind, limit=limit * scale, text=words)
    yield from _listed(_TOOLS, config, words)


def _sequence_grader(config: Mapping[str, object], words: str) -> Iterator[Check]:
    mode = text_of(config, "matching_mode", "mode")
    yield Check(
        CheckKind.TOOL_CALLS,
        texts_of(config.get("expected_actions")),
        ordered="any_order" not in mode,
        exact="exact" in mode,
        text=words,
    )


def _tool_grader(config: Mapping[str, object], words: str) -> Iterator[Check]:
    for key, kind in (("expect_tools", CheckKind.TOOL_CALLS), ("reject_tools", CheckKind.TOOLS_ABSENT)):
        if (check := _of_tools(kind, {"tools": config.get(key)}, words)).values:
            yield check


def _code_grader(config: Mapping[str, object], words: str) -> Iterator[Check]:
    for expression in texts_of(config.get("assertions")):
        yield Check(CheckKind.EXPRESSION, (expression,), text=words)


def _language_grader(config: Mapping[str, object], words: str) -> Iterator[Check]:
    if language := text_of(config, "value"):
        yield Check(CheckKind.CONTAINS, (f"```{language}",), text=words or f"a code block of {language}")


def _blocks_grader(config: Mapping[str, object], words: str) -> Iterator[Check]:
    if least := number_of(config.get("value")):
        pattern = rf"(?:```[\s\S]*?```[\s\S]*?){{{int(least)}}}"
        yield Check(CheckKind.MATCHES, (pattern,), text=words or f"min_code_blocks: {least:g}")


def _diff_grader(config: Mapping[str, object], words: str) -> Iterator[Check]:
    for each in mappings_of(config.get("expected_files")):
        path = text_of(each, "path")
        values = tuple(value.removeprefix("+") for value in texts_of(each.get("contains")))
        kind = CheckKind.FILE_CONTAINS if values else CheckKind.FILE_EXISTS
        yield Check(kind, values, path=path, same_case=True, text=words)


def _skill_grader(config: Mapping[str, object], words: str) -> Iterator[Check]:
    required = texts_of(config.get("required_skills") or config.get("required"))
    required = required or texts_of(config.get("skill_name") or config.get("expected_skill"))
    forbidden = texts_of(
        config.get("forbidden") or config.get("disallowed") or config.get("forbidden_skills")
    )
    if required:
        yield Check(CheckKind.SKILL_LOADED, required, text=words)
    if forbidden:
        yield Check(CheckKind.SKILL_NOT_LOADED, forbidden, text=words)


def _trigger_grader(config: Mapping[str, object], words: str) -> Iterator[Check]:
    negative = text_of(config, "mode") == "negative"
    yield Check(CheckKind.SKILL_NOT_LOADED if negative else CheckKind.SKILL_LOADED, text=words)


_SPECIAL: dict[str, Callable[[Mapping[str, object], str], Iterator[Check]]] = {
    "text": partial(_listed, _TEXTS),
    "behavior": _behaviour_grader,
    "action_sequence": _sequence_grader,
    "tool_constraint": _tool_grader,
    "code": _code_grader,
    "code_block_language": _language_grader,
    "min_code_blocks": _blocks_grader,
    "diff": _diff_grader,
    "skill_invocation": _skill_grader,
    "trigger": _trigger_grader,
}


def _normal(kind: str) -> str:
    name = kind.strip().lower().replace("-", "_").replace(" ", "_")
    return name.removeprefix("content_")


def expected_checks(expected: Mapping[str, object]) -> tuple[Check, ...]:
    """Return the checks for the `expected` part of a Waza task."""
    output = {key: expected.get(f"output_{key}") for key in ("contains", "contains_any", "not_contains")}
    found = [*_listed(_TEXTS, output)]
    found.extend(_behaviour_grader(mapping_of(expected.get("behavior")), ""))
    for outcome in mappings_of(expected.get("outcomes")):
        if text_of(outcome, "type") == "task_completed":
            found.append(Check(CheckKind.COMPLETED))
        elif text := text_of(outcome, "value", "condition"):
            found.append(check_of_statement(text))
    return tuple(found)
