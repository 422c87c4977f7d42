"""Judge requests with labels: which tool, script or ability is right, with which arguments, and what else is.

A row has `turns`, what the user types, and `expect` for the last of them: `tool`, `arguments`, and
`alternatives` that are as good. `describe_skill` and `list_skills` are abilities: the program has no tools
for them and answers with what skills say of themselves.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.agent.judging import Call, is_refusal

_PREPARES = {"load_skill", "read_skill_resource", "search_skills", "script_help", "script_list"}
_ONE_BY_ONE = {"greet_multiple": "greet_in_language"}
_ABILITIES = {"script_list": "list_scripts", "greet_user": "greet_in_language"}
_NAMED = {"skill_id": ("skill", "name"), "script_name": ("script",)}
_POSITIONAL = {"search": "words"}
_OPTION = re.compile(r"--?[A-Za-z]")
_SET = "true"
"""What an option without a value has."""
_GIVEN_ONLY = ("time", "ticker")
"""Arguments that are made up where the user gave none, besides those that a label has."""


def fits_label(row: Mapping[str, Any], calls: Sequence[Call], answer: str) -> bool:
    """Return whether calls and answer are what one of the alternatives of a label says."""
    expect = row["expect"]
    said = " ".join(row["turns"])
    for wanted in (expect, *expect.get("alternatives", ())):
        if _is_met(wanted, expect, list(calls), answer, said):
            return True
    return bool(expect.get("ask_back")) and not calls and "?" in answer


def _is_met(
    wanted: Mapping[str, Any], expect: Mapping[str, Any], calls: list[Call], answer: str, said: str
) -> bool:
    tool, arguments = wanted["tool"], wanted["arguments"]
    if tool == "none":
        if calls or (expect.get("ask_back") and wanted is expect):
            return False
        mentions = _mentions(expect, answer)
        refuses = is_refusal(answer) and not _is_refusal_expected(expect)
        return mentions and not refuses if "if" in wanted or expect["tool"] != "none" else not refuses
    if tool == "list_skills" and not calls:
        return _mentions(expect, answer) and answer.count("\n- ") > 1
    if tool == "describe_skill" and not calls:
        return answer.startswith(f"{arguments['name'][0]}:")
    counted = [_as_label(call) for call in calls]
    if all(name != tool for name, _ in counted):
        many = arguments.get("names")
        single = _ONE_BY_ONE.get(tool)
        if many is None or single is None:
            return False
        rest = {key: value for key, value in arguments.items() if key != "names"}
        given = [values for name, values in _acting(counted, single) if name == single]
        return (
            len(given) == len(_acting(counted, single))
            and _fits(many, [value.get("name") for value in given], "names")
            and all(_have(rest, value, said) for value in given)
        )
    acting = _acting(counted, tool)
    return len(acting) == 1 and acting[0][0] == tool and _have(arguments, acting[0][1], said)


def _acting(calls: Sequence[Call], tool: str) -> list[Call]:
    ignored = {_ABILITIES.get(name, name) for name in _PREPARES} - {tool}
    return [call for call in calls if call[0] not in ignored]


def _as_label(call: Call) -> Call:
    """Return a call in the words of labels: a script by its name, its command line as arguments."""
    name, given = call
    if name != "script_run":
        named = {key: value for old, value in given.items() for key in _NAMED.get(old, (old,))}
        return _ABILITIES.get(name, name), named
    script = str(given.get("script_name", "")).removesuffix(".py")
    return script, dict(_command_line([str(each) for each in given.get("args") or ()], script))


def _command_line(words: list[str], script: str) -> Iterator[tuple[str, Any]]:
    options: dict[str, list[str]] = {}
    rest: list[str] = []
    while words:
        word = words.pop(0)
        if not _OPTION.match(word):
            rest.append(word)
            continue
        option, equals, value = word.lstrip("-").partition("=")
        if not equals:
            value = words.pop(0) if words and not _OPTION.match(words[0]) else _SET
        options.setdefault(option, []).append(value)
    if rest:
        yield _POSITIONAL.get(script, "ticker"), " ".join(rest)
    for option, values in options.items():
        yield option, values if len(values) > 1 else values[0]


def _have(wanted: Mapping[str, Any], given: Mapping[str, Any], said: str) -> bool:
    made_up = [
        value
        for key in _GIVEN_ONLY
        if key not in wanted and (value := given.get(key)) and not _was_said(str(value), said)
    ]
    return not made_up and all(
        _fits(value, given.get(key, given.get(key[0])), key) for key, value in wanted.items()
    )


def _was_said(value: str, said: str) -> bool:
    hour = re.match(r"0?(\d+):", value)
    return value.casefold() in said.casefold() or (hour is not None and hour[1] in said)


def _fits(wanted: Any, given: Any, key: str) -> bool:
    match wanted:
        case {"all": [*all_of]}:
            values = [given] if isinstance(given, str) else list(given or ())
            spellings = [each if isinstance(each, list) else [each] for each in all_of]
            return len(values) == len(spellings) and all(
                any(_equal(value, one) for value in values for one in each) for each in spellings
            )
        case {"contains": [*groups]}:
            text = str(given or "").casefold()
            return all(any(word.casefold() in text for word in group) for group in groups)
        case {"between": [start, end]}:
            if given is None:
                return bool(wanted.get("or_absent"))
            time = f"{given:0>5}"
            return bool(start <= time <= end if start <= end else time >= start or time <= end)
        case [*any_of]:
            if given in (None, "", []):
                return None in any_of
            if isinstance(given, list):
                return len(given) == 1 and _fits(wanted, given[0], key)
            text = str(given)
            if key == "language":
                text = re.split(r"[-_]", text)[0]
            return any(one is not None and _equal(text, one) for one in any_of)
        case _:
            return _equal(given, wanted)


def _equal(given: object, wanted: object) -> bool:
    return str(given).strip().casefold() == str(wanted).strip().casefold()


def _mentions(expect: Mapping[str, Any], answer: str) -> bool:
    text = answer.casefold()
    return all(any(word.casefold() in text for word in group) for group in expect.get("must_mention", ()))


def _is_refusal_expected(expect: Mapping[str, Any]) -> bool:
    return any("cannot" in group or "not" in group for group in expect.get("must_mention", ()))
