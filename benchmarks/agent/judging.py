"""Whether what the agent did with a request of the evaluation set was right."""

import re
from collections.abc import Collection
from typing import Any

from skillkit.matching.terms import terms

Call = tuple[str, dict[str, Any]]

_PREPARES = {"load_skill", "read_skill_resource", "search_skills"}
_ABOUT_USE = {"used": True, "left alone": False}
_NOTHING_TO_PREPARE = {"plain", "cannot", "list-skills"}
_REFUSAL = re.compile(
    r"\b(?:I|we)(?: am|['’]m)? (?:cannot|can['’]t|can not|unable|not able|(?:do not|don['’]t) have|have no)\b"
    r"|^(?:sorry|unable|cannot)\b",
    re.IGNORECASE,
)
_LANGUAGES = {
    "arabic": "ar", "german": "de", "greek": "el", "english": "en", "spanish": "es", "french": "fr",
    "hindi": "hi", "italian": "it", "japanese": "ja", "korean": "ko", "dutch": "nl", "portuguese": "pt",
    "swahili": "sw", "chinese": "zh",
}  # fmt: skip


def is_refusal(answer: str) -> bool:
    """Return whether an answer says that something cannot be done."""
    return _REFUSAL.search(answer) is not None


def is_right(row: dict[str, Any], calls: list[Call], answer: str, used: Collection[str] = ()) -> bool:
    """The expected calls with the expected arguments and no other, and words that go with them.

    `accept` has other calls that are as good, `says` words of which a right answer has one.

    A row of a skill's own cases says whether the skill is to be used; `used` are those that were.

    Loading the text of a skill first is no mistake, except where nothing is to be done.
    """
    if row["kind"] in _ABOUT_USE:
        return (row["skill"] in used) is _ABOUT_USE[row["kind"]]
    free = set() if row["kind"] in _NOTHING_TO_PREPARE else _PREPARES
    counted = [(name, comparable(arguments)) for name, arguments in calls if name not in free]
    return _fits(row, answer) and any(
        _are_calls(row["request"], counted, expected) for expected in (row["calls"], *row.get("accept", ()))
    )


def _are_calls(request: str, counted: list[Call], expected: list[dict[str, Any]]) -> bool:
    wanted = [(call["tool"], comparable(call["arguments"])) for call in expected]
    return len(counted) == len(wanted) and all(
        _is_call(request, call, one) for call, one in zip(counted, wanted, strict=True)
    )


def _is_call(request: str, call: Call, wanted: Call) -> bool:
    """Whether a call is the expected one; `{"include": words}` is a free choice of the request's words."""
    (name, given), (expected_name, expected) = call, wanted
    match expected.get("args"):
        case {"include": words}:
            said = " ".join(given.get("args") or [])
            fits = set(terms(" ".join(words))) <= set(terms(said)) <= set(terms(request))
            return name == expected_name and fits and {**given, "args": 0} == {**expected, "args": 0}
        case _:
            return call == wanted


def _fits(row: dict[str, Any], answer: str) -> bool:
    """A request that cannot be met is refused in words; one that needs no tool is not refused."""
    if row["calls"]:
        return True
    if "says" in row and not any(word.casefold() in answer.casefold() for word in row["says"]):
        return False
    if row["kind"] == "ask-back":
        return answer.rstrip().endswith("?")
    if row["kind"] == "describe-skill" and answer.rstrip().endswith("?"):
        return False
    if row["kind"] == "list-skills" and not all(name in answer for name in row["skills"]):
        return False
    return is_refusal(answer) is (row["kind"] == "cannot")


def comparable(arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments without what is left to the default, languages by code, names of scripts without ending."""
    kept = {key: value for key, value in arguments.items() if value not in (None, [], "") and key != "json"}
    if isinstance(kept.get("language"), str):
        language = kept["language"].strip().lower()
        kept["language"] = _LANGUAGES.get(language, language)
        if kept["language"] == "en":  # the default of every greeting
            del kept["language"]
    if isinstance(kept.get("script_name"), str):
        kept["script_name"] = kept["script_name"].removesuffix(".py")
    if isinstance(kept.get("args"), list):
        kept["args"] = [argument for argument in kept["args"] if argument != "--json"]
        if not kept["args"]:
            del kept["args"]
    return kept
