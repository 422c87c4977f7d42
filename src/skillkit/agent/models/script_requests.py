"""Requests that name a script of a skill: which tool they are for is known without a model."""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from skillkit.agent.models.asked_parts import is_for_knowledge
from skillkit.agent.models.constrained import Call, ToolSpec
from skillkit.agent.models.examples import RUN, Example
from skillkit.agent.models.identifiers import example_identifiers, find_identifiers, has_identifier
from skillkit.agent.models.skill_answers import spelling
from skillkit.matching.terms import STOP_WORDS, terms

LIST, HELP = "script_list", "script_help"
SCRIPT_TOOLS = frozenset({LIST, HELP, RUN})
Scripts = Mapping[str, Sequence[str]]
"""Skills in use and the names of their scripts."""

_USAGE = re.compile(
    r"\b(?:help|usage|options?|arguments?|parameters?|flags?|switches|syntax|accepts?|takes?|expects?|inputs?"
    r"|document(?:ed|ation)?|explain|describe|how (?:do|does|can|could|would|should|to|is|are)"
    r"|what (?:do|does|is))\b"
)
_RUNNING = re.compile(r"\b(?:run|execute|start|launch|invoke|call|use|try)\b")
_FROM_IT = re.compile(r"\b(?:from|with|by|using|via|through)(?: the| your)?\s+(?:script|$)", re.IGNORECASE)
_RUNNING_NEXT = re.compile(r"\b(?:run|execute|start|launch|invoke|call)(?: the)?\s+$", re.IGNORECASE)
_SCRIPT_NEXT = re.compile(r"\s+script\b", re.IGNORECASE)
_SAID_ANYWAY = STOP_WORDS | frozenset(
    """
    script run execute start launch invoke call use try once again kindly according anybody somebody everybody
    look see show find search check know wonder list display fetch pull people folks currently put else
    """.split()
)
"""Words of any request."""
_LABELS = frozenset(terms("word words term terms query topic keyword keywords argument value ticker"))
"""Words that say what the next one is."""
_THING = re.compile(r"https?://\S|(?<!\S)[\w./-]*\w\.[A-Za-z]\w{1,4}(?!\w)")
"""A file or an address: something for a script."""
_OPTIONS = re.compile(r"(?<!\S)--?[a-z].*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Narrowed:
    """The request is for this tool and for no other; a model fills in what is left of its arguments."""

    tool: ToolSpec
    script: tuple[str, str] | None = None
    """The skill and the script whose command line is left to fill in."""


def call_for_script(
    request: str,
    tools: Sequence[ToolSpec],
    scripts: Scripts,
    examples: Sequence[Example] = (),
    spoken_of: str | None = None,
) -> Call | Narrowed | None:
    """Return what a request that speaks of scripts is for; None where a model has to find out.

    `spoken_of` is the skill that it speaks of in other words than its name.
    """
    offered = {tool.name: tool for tool in tools}
    asked = request.casefold()
    named_skills = [skill for skill in scripts if re.search(spelling(skill), asked)]
    if not named_skills and spoken_of is not None and spoken_of in scripts:
        named_skills = [spoken_of]
    rest = _without(request, named_skills)
    found = _named_script(
        rest, {skill: scripts[skill] for skill in named_skills} or scripts, bool(named_skills)
    )
    if found is None and RUN in offered:
        unshown = set(named_skills or scripts).difference(example.skill for example in examples)
        found = _described_script(request, {skill: scripts[skill] for skill in unshown})
        if found is not None and not is_for_knowledge(request):
            skill, script, _ = found
            return Narrowed(choosing(offered[RUN], skill_id=skill, script_name=script), (skill, script))
        found = None
    if found is None:
        lists = LIST in offered and len(named_skills) == 1 and re.search(r"\bscripts\b", asked)
        return Call(LIST, {"skill_id": named_skills[0]}) if lists else None
    skill, script, rest = found
    chosen = {"skill_id": skill, "script_name": script}
    usage = _USAGE.search(rest.casefold()) or HELP in asked
    if HELP in offered and usage and not _OPTIONS.search(rest):
        return Call(HELP, chosen)
    if RUN not in offered or not (_RUNNING.search(rest.casefold()) or _FROM_IT.search(rest)):
        return None
    args = _arguments(rest, [example for example in examples if example.script == script])
    if args is None:
        return Narrowed(choosing(offered[RUN], **chosen), (skill, script))
    return Call(RUN, {**chosen, "args": args} if args else chosen)


def is_option(value: str) -> bool:
    """Return whether a word of a command line says what the next one is."""
    return value.startswith("-")


def asks_for_usage(request: str) -> bool:
    """Whether a request may be about how something is used."""
    return _USAGE.search(request.casefold()) is not None


def names_tool(request: str, tools: Sequence[ToolSpec]) -> bool:
    """Whether a request says with which tool it wants to be met, as in `use script_run to …`."""
    asked = request.casefold()
    return any("_" in tool.name and tool.name.casefold() in asked for tool in tools)


def choosing(tool: ToolSpec, **values: str) -> ToolSpec:
    """Return a tool for which these arguments are settled."""
    properties: Mapping[str, Any] = tool.parameters.get("properties", {})
    settled = {name: {**properties.get(name, {}), "enum": [value]} for name, value in values.items()}
    return replace(tool, parameters={**tool.parameters, "properties": {**properties, **settled}})


def fill(example: Example, identifier: str) -> list[str]:
    """Return what an example gives a script, with another identifier."""
    known = set(example_identifiers(example.values))
    return [identifier if value in known else value for value in example.values]


def _named_script(request: str, scripts: Scripts, of_skill: bool) -> tuple[str, str, str] | None:
    """Return the one script that a request names, its skill, and the request without the name.

    A name that is an everyday word counts where somebody speaks of a script, or is to run it and says of
    which skill (`of_skill`) or with what: `run status of kalshi-markets`, `run loans --book BK-1234-A`. One
    that is called a script, or is to be run, goes before others: `run the loans script for the book BK-12`.
    """
    speaks = re.search(r"\bscript\b", request, re.IGNORECASE) is not None
    given = of_skill or has_identifier(request) or _OPTIONS.search(request) is not None
    found: dict[tuple[str, str], re.Match[str]] = {}
    called: set[tuple[str, str]] = set()
    for skill, names in scripts.items():
        for name in names:
            parts = [part for part in re.split(r"[\W_]+", name) if part]
            spelled = r"[\W_]?".join(map(re.escape, parts))
            place = re.search(rf"(?<![\w-]){spelled}(?:\.\w{{1,3}})?(?![\w-])", request, re.IGNORECASE)
            if place is None:
                continue
            run = _RUNNING_NEXT.search(request[: place.start()]) is not None
            if speaks or (run and given) or re.search(r"\w[_-]\w", place[0]):
                found[skill, name] = place
                if run or _SCRIPT_NEXT.match(request, place.end()):
                    called.add((skill, name))
    found = {key: place for key, place in found.items() if key in called} or found
    if not found:
        found = _partly_named(request, scripts)
    longest = max((place.end() - place.start() for place in found.values()), default=0)
    kept = [key for key, place in found.items() if place.end() - place.start() == longest]
    if len(kept) != 1:
        return None
    place = found[kept[0]]
    return (*kept[0], f"{request[: place.start()]} {request[place.end() :]}")


def _described_script(request: str, scripts: Scripts) -> tuple[str, str, str] | None:
    """Return the one script whose name has several words that are all said: `convert a.pdf to images`.

    Or the only one there is, for a request with a file or an address in it.
    A skill that shows how its scripts are used says more than their names.
    """
    said = set(terms(request))
    found = {
        (skill, name): len(words)
        for skill, names in scripts.items()
        for name in names
        if len(words := set(terms(name.replace("_", " ").replace("-", " ")))) > 1 and words <= said
    }
    best = [key for key, count in found.items() if count == max(found.values())]
    if not found and _THING.search(request):
        best = [(skill, name) for skill, names in scripts.items() for name in names]
    return (*best[0], request) if len(best) == 1 else None


def _partly_named(request: str, scripts: Scripts) -> dict[tuple[str, str], re.Match[str]]:
    """Return the script of which a part of the name is said: `the greeting script` is advanced_greeting."""
    place = re.search(r"\b([^\W_]+)(?= script\b)", request, re.IGNORECASE)
    said = set(terms(place[1])) if place is not None else set()
    if place is None or not said:
        return {}
    return {
        (skill, name): place
        for skill, names in scripts.items()
        for name in names
        if said <= set(terms(name.replace("_", " ")))
    }


def _arguments(rest: str, examples: Sequence[Example]) -> list[str] | None:
    """Return the command line that the rest of a request spells out; None where it has to be understood."""
    options = _OPTIONS.search(rest)
    words = content_words(rest[: options.start()] if options else rest)
    shown = [each for example in examples for each in example_identifiers(example.values)]
    identifiers = find_identifiers(rest, shown)
    if options is not None:
        given = _spelled_out(options[0])
        if words and (given is None or words != find_identifiers(rest[: options.start()], shown)):
            return None
        return given if given is None else [*words, *given]
    if identifiers == words and len(identifiers) == 1 and shown:
        example = next(example for example in examples if example_identifiers(example.values))
        return fill(example, identifiers[0])
    given = [value for example in examples for value in example.values]
    if words and not shown and given and not any(map(is_option, given)):
        words = [word for word in words if not set(terms(word)) <= _LABELS]
        most = max(len(example.values) for example in examples)
        return words if 0 < len(words) <= most else None
    return None if words else []


def content_words(text: str, besides: Iterable[str] = ()) -> list[str]:
    """Return the words of a text that say something, as they were written; `besides` are stems of others."""
    known = set(besides)
    found: list[str] = []
    before = ""
    for word in re.findall(r"[^\W_](?:[\w.'’-]*[^\W_])?", text):
        stems = terms(word)
        of_name = bool(found) and found[-1] == before and _is_name(word, before)  # Series in World Series
        is_known = bool(stems) and set(stems) <= known and not of_name
        if (_bare(word) not in _SAID_ANYWAY or _is_name(word, before)) and not is_known:
            found.append(word)
        before = word
    return found


def _is_name(word: str, before: str) -> bool:
    """Return whether a word that any request may have is a name here: US is not us, nor Who in Doctor Who."""
    return len(word) > 1 and (word.isupper() or (word[0].isupper() and before[:1].isupper()))


def _bare(word: str) -> str:
    """Return a word without what is joined to it: `who` of who's."""
    return re.sub(r"['’](?:s|re|ll|d|ve|m)?$", "", word.casefold())


def _spelled_out(options: str) -> list[str] | None:
    try:
        words = shlex.split(options.strip().removesuffix(" please").rstrip(".!?"))
    except ValueError:
        return None
    pairs = zip(["", *words], words, strict=False)
    return None if any(word in STOP_WORDS and not before.startswith("-") for before, word in pairs) else words


def _without(text: str, names: Iterable[str]) -> str:
    for name in names:
        text = re.sub(rf"{spelling(name)}(?:['’]s?)?", " ", text, flags=re.IGNORECASE)
    return text
