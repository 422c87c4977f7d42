"""Arguments that a small model made up: a value that nobody named is left out, or asked for."""

import html
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import pairwise
from typing import Any

from skillkit.agent.models.constrained import Call, ToolSpec
from skillkit.agent.models.identifiers import without_identifiers
from skillkit.agent.models.languages import is_language, says_language
from skillkit.agent.models.script_requests import asks_for_usage
from skillkit.agent.models.spoken_times import clock_time, spoken_times
from skillkit.matching.terms import STOP_WORDS, terms

_CODE = 3
"""Lower-case values up to this length are codes (`fr`), derived from what was said rather than quoted."""
_STEM = 5
"""Words that begin with so many of the same letters count as the same: election, elections."""
_USER = frozenset({"i", "me", "us", "we"})
_NO_NAMES = (STOP_WORDS | {"anybody", "somebody", "everybody", "everyone"}) - _USER
"""Words that name nobody and nothing, in lower case; the user is somebody."""
_NUMBERS = {
    word: str(number)
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()
    )
}
_SAME_AGAIN = re.compile(
    r"\b(?:same|likewise|as well|too|also)\b|^and (?:to|for)\b|^(?:and )?(?:what|how) about\b"
    r"|^(?:ok(?:ay)?,? )?and(?: \S+){1,4}$",
    re.IGNORECASE,
)
_ALIKE = 0.66
_OF_LANGUAGE = re.compile(r"\blang|locale")
"""In the name of an argument that says a language."""
_HARMLESS = "--json"
_ANY_TOOL = frozenset(terms("list show get tool skill"))
_READ = "read_skill_resource"
_LISTED = re.compile(r"<resource>([^<]+)</resource>")
SKILL = "skill_id"
"""The argument that says which skill is meant."""
COMMAND_LINE = "args"
"""The argument that holds the words of a script's command line."""


@dataclass(frozen=True, slots=True)
class MadeUp:
    """A call needs a value that nobody has named."""

    tool: str
    question: str
    """What to ask the user for it."""
    runs_script: bool = False


@dataclass(frozen=True, slots=True)
class Spoken:
    """What values may come from."""

    request: str
    """What the user said last."""
    said: str = ""
    """All that the user said and that tools returned."""
    instructions: str = ""
    """What the skills in use say."""
    before: str = ""
    """All that anybody said before the last request."""

    def spelled_as(self, correct: Callable[[str], str]) -> "Spoken":
        """Return the same with the request corrected."""
        request = correct(self.request)
        return replace(self, request=request, said=self.said.replace(self.request, request))


def mentions_tool(said: str, name: str, description: str) -> bool:
    """Return whether a word of a tool's name or description was said that says what it is about."""
    about = set(terms(f"{name.replace('_', ' ')} {description}")) - _ANY_TOOL
    return not set(terms(said)).isdisjoint(about)


def callable_tools(
    tools: Sequence[ToolSpec],
    spoken: Spoken,
    of_use: Collection[str] = (),
    *,
    for_skills: bool = False,
) -> list[ToolSpec]:
    """Return the tools that may be called: what is taken too readily only where it was spoken of.

    That is a tool for which nothing has to be filled in, what only tells of scripts, and any tool where the
    request is about skills, unless these are what a skill in use is for (`for_skills`). `of_use` are the
    words that skills in use declare they are wanted for: where nobody said one of them, nor one of the tool
    itself, the skill is in use by mistake.
    """
    words = set(terms(_without(spoken.said, _choices(tools, SKILL))))
    script_names = set(terms(" ".join(_choices(tools, "script_name")).replace("_", " ")))
    about_skills = not for_skills and re.search(r"\bskills\b", spoken.request.casefold()) is not None

    def is_callable(tool: ToolSpec) -> bool:
        if tool.name in spoken.said:
            return True
        required = tool.parameters.get("required", ())
        if tool.about:
            named = script_names if "script_name" in required and asks_for_usage(spoken.request) else ()
            return not words.isdisjoint([*terms(tool.about), *named])
        mentioned = mentions_tool(spoken.said, tool.name, tool.description)
        wanted = bool(required) and (not of_use or not words.isdisjoint([*of_use, *script_names]))
        return (mentioned or wanted) and not about_skills

    found = [tool for tool in tools if is_callable(tool)]
    return [tool for one in found if (tool := _reading_listed(one, spoken.instructions)) is not None]


def _reading_listed(tool: ToolSpec, instructions: str) -> ToolSpec | None:
    """Return a tool that reads files of skills, for those that a skill lists; None where none does.

    A small model takes a file that the user speaks of for one of the skill's.
    """
    if tool.name != _READ:
        return tool
    listed = dict.fromkeys(html.unescape(path) for path in _LISTED.findall(instructions))
    path = {**tool.parameters.get("properties", {}).get("path", {}), "enum": list(listed)}
    properties = {**tool.parameters.get("properties", {}), "path": path}
    return replace(tool, parameters={**tool.parameters, "properties": properties}) if listed else None


def scripts_for_identifier(
    tools: Sequence[ToolSpec], for_words: Collection[str], request: str
) -> list[ToolSpec]:
    """Return the tools with the scripts that a request with an identifier can mean.

    That are those of which it says the name, else all that are not known to take words (`for_words`).
    """
    scripts = _choices(tools, "script_name")
    said = _squashed(without_identifiers(_without(request, _choices(tools, SKILL))))
    named = {name for name in scripts if _stem(name) in said}
    return [_choosing(tool, "script_name", named or scripts - set(for_words)) for tool in tools]


def _stem(name: str) -> str:
    """Return a name of a script as it may stand in a request: `order book`, `trade`."""
    squashed = _squashed(name)
    return squashed[:-1] if squashed.endswith("s") and len(squashed) > _STEM else squashed


def _squashed(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.casefold())


def _choosing(tool: ToolSpec, argument: str, kept: Collection[str]) -> ToolSpec:
    properties = tool.parameters.get("properties", {})
    listed = properties.get(argument, {}).get("enum", ())
    choices = [value for value in listed if value in kept]
    if not choices or len(choices) == len(listed):
        return tool
    narrowed = {**properties, argument: {**properties[argument], "enum": choices}}
    return replace(tool, parameters={**tool.parameters, "properties": narrowed})


def check_arguments(call: Call, tools: Sequence[ToolSpec], spoken: Spoken) -> Call | MadeUp:
    """Return the call with the values that somebody has named.

    An optional value may be implied (French, where somebody is to say bonjour) and stays as long as a word
    was said that could imply it. Options of a command line stay with a value that was said, or as they
    stand in the instructions.
    """
    spec = next((tool for tool in tools if tool.name == call.tool), None)
    if spec is None:
        return call
    words = _Words(f"{spoken.said}\n{spoken.request}", spoken.instructions, _choices(tools))
    own = terms(f"{spec.name} {spec.description} {' '.join(_choices(tools))}".replace("_", " "))
    answers = spoken.before.rstrip().endswith("?")  # then what it belongs to was said before
    asked = spoken.said if answers else spoken.request
    if not says_language(asked, own):
        given = {name: _without_language(name, value, words) for name, value in call.arguments.items()}
        call = Call(call.tool, {name: value for name, value in given.items() if value is not None})
    in_language = any(map(_OF_LANGUAGE.search, call.arguments))
    checked: dict[str, Any] = {}
    for name, given_value in call.arguments.items():
        value = _without_languages(given_value) if in_language else given_value
        schema = spec.parameters.get("properties", {}).get(name, {})
        required = name in spec.parameters.get("required", ())
        kept = _checked(name, value, schema, words)
        if name == COMMAND_LINE and value and not kept and not _names_script(call, tools, spoken):
            kept = _MADE_UP  # nothing that was to be given was said, and the script was not spoken of
        if kept is _MADE_UP and (required or name == COMMAND_LINE):
            runs_script = COMMAND_LINE in spec.parameters.get("properties", {})
            return MadeUp(call.tool, question_for(call, name, schema), runs_script)
        if kept is _MADE_UP or (not required and _is_code(value)):
            others = {other: given for other, given in call.arguments.items() if other != name}
            if not _is_implied(spec, others, asked):
                continue
            kept = value
        checked[name] = kept
    return Call(call.tool, checked)


def as_before(call: Call, last: Call | None, spoken: Spoken) -> Call:
    """Return a call with what it leaves out of the last one, where the same is wanted again for another."""
    if last is None or last.tool != call.tool or not _SAME_AGAIN.search(spoken.request):
        return call
    kept = {name: value for name, value in last.arguments.items() if name != COMMAND_LINE}
    return Call(call.tool, {**kept, **call.arguments})


_MADE_UP = object()


def _choices(tools: Sequence[ToolSpec], argument: str | None = None) -> set[str]:
    """Return the values that tools list, for any argument or for one: whoever offers them has named them."""
    return {
        value
        for tool in tools
        for name, schema in tool.parameters.get("properties", {}).items()
        if argument in (None, name)
        for value in schema.get("enum", ())
        if isinstance(value, str)
    }


def _without(text: str, names: Iterable[str]) -> str:
    """Return a text without names of skills, whose words say nothing about scripts."""
    for name in names:
        text = re.sub(re.escape(name), " ", text, flags=re.IGNORECASE)
    return text


def _names_script(call: Call, tools: Sequence[ToolSpec], spoken: Spoken) -> bool:
    script = set(terms(str(call.arguments.get("script_name") or "").replace("_", " ")))
    return not script.isdisjoint(terms(_without(spoken.request, _choices(tools, SKILL))))


def _is_implied(spec: ToolSpec, others: Mapping[str, Any], request: str) -> bool:
    """Return whether the request has a word that neither the tool nor its other arguments account for."""
    known = f"{spec.name.replace('_', ' ')} {spec.description} {list(others.values())}"
    return not set(terms(request)) <= set(terms(known))


def _checked(name: str, value: Any, schema: Mapping[str, Any], words: "_Words") -> Any:
    match value:
        case str() if _is_free_text(schema):
            return words.as_said(value) if words.contain(value) else _MADE_UP
        case [*parts] if name == COMMAND_LINE:
            return _command_line(parts, words)
        case [*parts] if parts and _is_free_text(schema.get("items", {})):
            named = [
                words.as_said(part) if isinstance(part, str) else part
                for part in parts
                if not isinstance(part, str) or words.contain(part)
            ]
            return named or _MADE_UP
        case _:
            return value


def _is_free_text(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "string" and "enum" not in schema and "const" not in schema


def _command_line(parts: Sequence[Any], words: "_Words") -> Any:
    """The words of a command line that were said; made up where there are words and none of them was."""
    kept: list[Any] = []
    made_up = False
    rest = [str(part) for part in parts]
    while rest:
        part = rest.pop(0)
        if not part.startswith("-"):
            made_up = made_up or not words.said(part)
            option = words.option_of(part)
            kept += [option] if option is not None and option not in kept else []
            kept += [words.as_said(part)] if words.said(part) else []
        elif "=" in part:
            kept += [part] if words.said(part.partition("=")[2]) else []
        elif rest and not rest[0].startswith("-"):
            value = rest.pop(0)
            kept += [part, value] if words.said(value) or words.instruct(f"{part} {value}") else []
        elif words.said(part) or part == _HARMLESS:
            kept.append(part)
    return _MADE_UP if made_up and all(part.startswith("-") for part in kept) else kept


def question_for(call: Call, name: str, schema: Mapping[str, Any]) -> str:
    """Return what to ask the user for the argument of a call."""
    if name == COMMAND_LINE:
        return f"To run {call.arguments.get('script_name', call.tool)} I need a name: which one do you mean?"
    about = " ".join(str(schema.get("description") or "").split()).rstrip(".")
    return f"Which {name} do you mean{f' ({about[0].lower()}{about[1:]})' if about else ''}?"


def _without_language(name: str, value: Any, words: "_Words") -> Any:
    """Return a value without the code of a language, which a model derives from the name of somebody."""

    def is_derived(option: str, given: object) -> bool:
        about = _OF_LANGUAGE.search(option.casefold()) is not None
        return about and _is_code(given) and not words.have(str(given))

    if name == COMMAND_LINE and isinstance(value, list):
        pairs = list(pairwise(["", *map(str, value), ""]))
        return [
            each
            for (option, each), (_, given) in pairwise(pairs)
            if not is_derived(option, each) and not is_derived(each, given)
        ]
    return None if is_derived(name, value) else value


def _without_languages(value: Any) -> Any:
    """Return a list without what says the language: nobody is called español in `saluda a Ana en español`."""
    if not isinstance(value, list):
        return value
    return [part for part in value if not (isinstance(part, str) and is_language(part))] or value


def _is_code(value: object) -> bool:
    return isinstance(value, str) and len(value.strip()) <= _CODE and value.islower()


class _Words:
    """What was said, to look values up in."""

    def __init__(self, said: str, instructions: str, choices: Collection[str]) -> None:
        self._instructions = instructions
        self._choices = choices
        self._said = said
        self._text = said.casefold()
        self._words = set(re.findall(r"[^\W_]+", self._text))
        self._words |= {_NUMBERS[word] for word in self._words & _NUMBERS.keys()}
        self._stems = {word[:_STEM] for word in self._words if len(word) >= _STEM}

    def have(self, word: str) -> bool:
        """Whether a word was said as it is."""
        return word.casefold() in self._words

    def instruct(self, option: str) -> bool:
        """Whether the instructions have an option with its value, and not a word for any: `--size NAME`."""
        value = option.rpartition(" ")[2]
        return option in self._instructions and not (value.isupper() and value.isalpha())

    def option_of(self, value: str) -> str | None:
        """Return the option that stands before a value in what was said."""
        found = re.search(rf"(?<!\S)(--?[a-z][\w-]*)[ =]{re.escape(value.casefold())}(?!\S)", self._text)
        return found[1] if found else None

    def contain(self, value: str) -> bool:
        """Whether a value was said that is somebody or something."""
        # Nobody is called "there" in "hi there", or "team" in "the whole team".
        named = value.strip() and not (value.islower() and value.strip() in _NO_NAMES)
        if value.casefold().strip() in _USER:  # too short to be looked for within other words
            return value.casefold().strip() in self._words
        return bool(named) and not self._is_group(value) and self.said(value)

    def _is_group(self, value: str) -> bool:
        folded = value.casefold().strip()
        if re.match(r"(?:(?:the|my|our|your) )?(?:whole|entire|every) ", folded):
            return True
        if value.islower() and re.fullmatch(r"(?:(?:my|our|your|the) )?\w+[^s\W]s", folded):
            several = folded.rpartition(" ")[2]  # "my parents", "our customers": people without names
            if re.search(rf"\b(?:my|our|your|the) {re.escape(several)}\b", self._text):
                return True
        place = rf"\b(?:in|at|from|of) (?:my|our|your|the) {re.escape(folded)}\b"
        if value.islower() and re.search(place, self._text):  # "everybody in my office": where they are
            return True
        group = rf"\b(?:whole|entire|every|all(?: of)?(?: my| our| the)?) {re.escape(folded)}\b"
        return re.search(group, self._text) is not None

    def as_said(self, value: str) -> str:
        """Return a value in the words that were said: `superbowl` where somebody said Super Bowl.

        A name of something stays: `advanced_greeting` where somebody said advanced greeting.
        """
        letters = re.findall(r"[^\W_]", value)
        is_name = value in self._choices or re.search(r"[^\W_]_[^\W_]", value)
        if is_name or value.casefold().strip() in self._text or not letters:
            return value
        spelled = r"[\W_]{0,2}".join(map(re.escape, letters))
        found = re.search(rf"(?<![^\W_]){spelled}(?![^\W_])", self._said, re.IGNORECASE)
        return found[0] if found else value

    def said(self, value: str) -> bool:
        folded = value.casefold().strip()
        if _is_code(value) or value in self._choices:
            return True
        if folded in self._text and (len(folded) > _CODE or folded in self._words or not folded.isalpha()):
            return True  # so few letters stand in many words
        if (time := clock_time(folded)) is not None:
            return time in spoken_times(self._text)
        parts = re.findall(r"[^\W_]+", folded)
        return bool(parts) and all(map(self._was_said, parts))

    def _was_said(self, word: str) -> bool:
        """Whether a word was said, in this form or another: election and elections, French and France.

        One with a number in it has no other form: nobody is called Friend1 in `greet my friends`.
        """
        if word in self._words or (word.isalpha() and word[:_STEM] in self._stems):
            return True
        return word.isalpha() and len(word) >= _STEM and bool(get_close_matches(word, self._words, 1, _ALIKE))
