"""Which skills a request should bring and which it must not, in every spelling that was found in public."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from skillkit.evaluation.cases import Routing
from skillkit.evaluation.formats.document import mapping_of, texts_of

Should = Literal["yes", "no"] | None

POSITIVE_LISTS = frozenset(
    """
    should_trigger positive positives trigger triggers should_activate should_fire positive_cases
    positive_triggers must_trigger should_trigger_prompts should_trigger_queries in_scope
    """.split()
)
NEGATIVE_LISTS = frozenset(
    "should_not_trigger negative negatives no_trigger should_not_activate should_not_fire "
    "negative_cases negative_triggers must_not_trigger should_not_trigger_prompts near_misses near_miss "
    "should_not_trigger_queries dont_trigger out_of_scope anti_triggers".split()
)
_FLAGS = (
    "should_trigger", "should", "should_activate", "should_fire", "trigger", "triggers", "expected_trigger",
    "expect_trigger", "should_invoke", "should_route", "expected", "expect", "label", "expect_activation",
    "expected_activation", "expected_invocation",
)  # fmt: skip
_KINDS = ("type", "kind", "category", "expected_behavior", "expected_result")
"""Where others say of what kind a request is, which is a verdict if nothing else is one."""
_YES = frozenset("true yes should_trigger positive trigger activate invoke route fire select 1".split())
_NO = frozenset(
    """
    false no should_not_trigger negative no_trigger none 0 not_trigger anti_trigger near_miss do_not_trigger
    do_not_invoke do_not_route do_not_activate no_route not_invoke
    """.split()
)
_NO_SKILL = frozenset({"", "none", "null", "no_skill", "no_route", "n/a"})
_NAMED = re.compile(
    r"(?:expect|expected|lead|gold|intended|correct)(?:_[a-z]+)*_skills?|expected_(?:top|any|routes?)|relevant"
)
_UNWANTED = re.compile(
    r"negative_for|unexpected_skills?|(?:forbid|forbidden|reject|rejected|near_miss|excluded)_(?:skills?|routes?)"
    r"|must_not_(?:invoke|select|route|load|use)"
)
_UNWANTED_NAMES = ("forbid", "forbidden", "reject", "near_miss")
"""The same where they hold names of skills and not words of an answer."""
_MAYBE_NAMED = re.compile(
    r"expect(?:ed)?(?!_\w*(?:output|behaviou?r|result|response|outcome|action|mode|stop|source|decision))"
    r"(?:_[a-z]+)*|route|gold|intended"
)
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}(?:[:/][a-z0-9][a-z0-9_.-]{0,63}){0,3}")


def field_name(key: object) -> str:
    """A key as the lists here have it: `shouldTrigger` and `should-trigger` are `should_trigger`."""
    return re.sub("(?<=[a-z])(?=[A-Z])", "_", str(key)).lower().replace("-", "_")


def naming_field(items: Iterable[Mapping[str, object]]) -> str:
    """The field in which a file about many skills names the one of each request, whatever it is called.

    That of all items, where none has anything but a name in it, several, or nothing or `none` for no skill.
    """
    values: dict[str, list[object]] = {}
    count = 0
    for item in items:
        count += 1
        for key, value in item.items():
            name = field_name(key)
            if _MAYBE_NAMED.fullmatch(name) and not _NAMED.fullmatch(name):
                values.setdefault(str(key), []).append(value)
    for key, found in values.items():
        named = [_names(value) for value in found]
        if len(found) == count and None not in named and (any(named) or "none" in found):
            return key
    return ""


def routing_of(
    item: Mapping[str, object], skill: str | None, should: Should, naming: str = ""
) -> Routing | None:
    """What an item says, with what the list around it says; `naming` is a field that names its skill."""
    fields = {field_name(key): value for key, value in item.items()}
    keys = [key for key in fields if _NAMED.fullmatch(key)]
    named: object = next((fields[key] for key in keys), None)
    unwanted = tuple(name for key in fields if _UNWANTED.fullmatch(key) for name in texts_of(fields[key]))
    if isinstance(forbidden := fields.get("should_not_trigger"), str | list):
        unwanted += texts_of(forbidden)
    if named is None:
        named = _named_as_verdict(fields)
    if named is None and naming:
        keys.append(naming)
        named = list(_names(item.get(naming)) or ())
    if named is None and not keys and "negative_for" not in fields:
        return _by_verdict(should or _verdict(fields, (*_FLAGS, *_KINDS)), skill, unwanted)
    for key in _UNWANTED_NAMES:
        unwanted += _names(fields.get(key)) or ()
    wanted = tuple(name for name in texts_of(named) if not _is_none(name))
    if wanted and _verdict(fields, _FLAGS) == "no":
        return Routing((), (*wanted, *unwanted))
    return Routing(wanted, unwanted)


def names_skills(values: Sequence[str]) -> bool:
    """Whether these could all be names of skills."""
    return bool(values) and all(_NAME.fullmatch(value) and "-" in value for value in values)


def _by_verdict(verdict: Should, skill: str | None, unwanted: tuple[str, ...]) -> Routing | None:
    if verdict is None:
        return None
    about = skill or ""  # without one it is about whatever skill the file is tested with
    if verdict == "yes":
        return Routing((about,), unwanted)
    return Routing((), (about, *unwanted) if skill else ("",))


def _named_as_verdict(fields: Mapping[str, object]) -> str | None:
    """The skill that stands where others say whether one should come: `"should_trigger": "peer-review"`."""
    for key in ("should_trigger", "expected_trigger"):
        value = fields.get(key)
        if isinstance(value, str) and _word(value) not in _YES | _NO and len(value.split()) == 1:
            return value.strip()
    return None


def _names(value: object) -> tuple[str, ...] | None:
    """The names of skills in a value, none where it says so; None where it is something else."""
    within = mapping_of(value)
    if within:
        value = within.get("skill", within.get("route"))
    texts = texts_of(value)
    if value is not None and not texts and value not in ("", []):
        return None
    if len(texts) == 1 and _is_none(texts[0]):
        return ()
    verdicts = (_YES | _NO) - _NO_SKILL
    return texts if all(_NAME.fullmatch(text) and _word(text) not in verdicts for text in texts) else None


def _is_none(name: str) -> bool:
    return _word(name) in _NO_SKILL


def _word(text: str) -> str:
    return text.strip().lower().replace("-", "_")


def _verdict(fields: Mapping[str, object], keys: Iterable[str]) -> Should:
    for key in keys:
        value = fields.get(key)
        if value is None and key == "should_trigger" and key in fields:
            return "no"
        if isinstance(value, bool) and key in _FLAGS:
            return "yes" if value else "no"
        if isinstance(value, str):
            word = _word(value)
            if word in _YES:
                return "yes"
            if word in _NO and not (key in ("expected", "expect") and word == "none"):
                return "no"
    return None
