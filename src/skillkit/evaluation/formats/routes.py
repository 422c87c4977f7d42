"""Parse which skills a request should match and which it must not, in the spellings of the table."""

from collections.abc import Iterable, Mapping
from typing import Literal

from skillkit.evaluation.cases import Routing
from skillkit.evaluation.formats.aliases import FIELDS, WORDS, field_name
from skillkit.evaluation.formats.document import texts_of

Should = Literal["yes", "no"] | None


def routing_of(item: Mapping[str, object], skill: str | None, should: Should) -> Routing | None:
    """Return the routing of an item, combined with that of its enclosing list."""
    fields = {field_name(key): value for key, value in item.items()}
    named = [fields[key] for key in FIELDS["wanted_skills"] if key in fields]
    unwanted = tuple(
        name for key in FIELDS["unwanted_skills"] if key in fields for name in texts_of(fields[key])
    )
    if isinstance(forbidden := fields.get("should_not_trigger"), str | list):
        unwanted += texts_of(forbidden)
    if not named and (name := _named_as_verdict(fields)):
        named = [name]
    if not named and "negative_for" not in fields:
        return _by_verdict(should or _verdict(fields, FIELDS["verdict"] + FIELDS["kind"]), skill, unwanted)
    first = next((names for value in named if (names := texts_of(value))), ())
    wanted = tuple(name for name in first if _word(name) not in WORDS["no_skill"])
    if wanted and _verdict(fields, FIELDS["verdict"]) == "no":
        return Routing((), (*wanted, *unwanted))
    return Routing(wanted, unwanted)


def _by_verdict(verdict: Should, skill: str | None, unwanted: tuple[str, ...]) -> Routing | None:
    if verdict is None:
        return None
    about = skill or ""  # without one, any skill that the file is tested with
    if verdict == "yes":
        return Routing((about,), unwanted)
    return Routing((), (about, *unwanted) if skill else ("",))


def _named_as_verdict(fields: Mapping[str, object]) -> str | None:
    """Return the skill named in a verdict field, such as `"should_trigger": "peer-review"`."""
    for key in ("should_trigger", "expected_trigger"):
        value = fields.get(key)
        if isinstance(value, str) and _word(value) not in WORDS["yes"] + WORDS["no"] and " " not in value:
            return value.strip()
    return None


def _word(text: str) -> str:
    return text.strip().lower().replace("-", "_")


def _verdict(fields: Mapping[str, object], keys: Iterable[str]) -> Should:
    for key in keys:
        value = fields.get(key)
        if value is None and key == "should_trigger" and key in fields:
            return "no"
        if isinstance(value, bool) and key in FIELDS["verdict"]:
            return "yes" if value else "no"
        if isinstance(value, str):
            word = _word(value)
            if word in WORDS["yes"]:
                return "yes"
            if word in WORDS["no"]:
                return "no"
    return None
