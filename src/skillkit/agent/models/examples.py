"""Examples that skills bring along: what was asked, and the call that does it.

They stand in the header as `metadata.examples`, a line each: `What are the odds of rain? => search rain` runs
a script, `Welcome Ann => greet name=Ann` calls a tool of the skill, a text in quotation marks is said.
"""

import json
import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from skillkit.agent.models.demonstration import Turn, call_text, exchange
from skillkit.agent.models.identifiers import has_identifier, without_identifiers
from skillkit.core.models import SkillMetadata
from skillkit.matching.terms import terms

FEW = 6
"""So many are always shown: the model has read them before. Of more, those nearest to the request."""
MOST = 3
_ARROW = "=>"
_MAX_LINE = 300
RUN = "script_run"


@dataclass(frozen=True, slots=True)
class Example:
    """A request and the reply to it."""

    request: str
    reply: str
    tool: str | None
    """The tool that the reply calls; None for words."""
    script: str | None = None
    """The script that it runs."""
    values: Sequence[str] = ()
    """What the script is given."""
    skill: str = ""
    """The skill whose example it is."""

    def turns(self) -> list[Turn]:
        return exchange(self.request, self.reply)


@dataclass(frozen=True, slots=True)
class Examples:
    """The examples that a request is shown: the same ones every time, or those that are nearest to it."""

    fixed: Sequence[Example] = ()
    nearest: Sequence[Example] = ()


NO_EXAMPLES = Examples()


def choose(request: str, examples: Sequence[Example]) -> Examples:
    """Return what of `examples` is shown with a request.

    A script beside tools is for what is asked rarely: its examples are shown where a word of them was said.
    """
    if len(examples) > FEW:
        return Examples(nearest=nearest(request, examples))
    with_tools = any(example.tool not in (None, RUN) for example in examples)
    rare = [example for example in examples if example.tool == RUN] if with_tools else []
    shown = rare if speaks_of_script(request, examples) else ()
    return Examples([example for example in examples if example not in rare], shown)


def showing(tools: Collection[str], examples: Sequence[Example]) -> list[Example]:
    """Return the examples that call these tools, and those of the same skills that ask for something."""
    skills = {example.skill for example in examples if example.tool in tools}
    return [
        example
        for example in examples
        if example.tool in tools or (example.skill in skills and example.reply.startswith('{"ask"'))
    ]


def speaks_of_script(request: str, examples: Sequence[Example]) -> bool:
    """Return whether a request has a word that only the examples with scripts have, or the name of one."""
    for_script = {
        word
        for example in examples
        if example.tool == RUN
        for word in terms(f"{example.request} {(example.script or '').replace('_', ' ')}")
    }
    others = {word for example in examples if example.tool != RUN for word in terms(example.request)}
    said = " ".join(word for word in request.split() if word.islower())  # names are of nobody in particular
    return not (for_script - others).isdisjoint(terms(said))


def examples_of(skill: SkillMetadata, scripts: Collection[str]) -> list[Example]:
    """Return the examples that a skill with these scripts brings along, as far as they can be read."""
    text = skill.metadata.get("examples")
    lines = text.splitlines() if isinstance(text, str) else ()
    return [example for line in lines if (example := _example(line[:_MAX_LINE], skill.name, scripts))]


def _example(line: str, skill: str, scripts: Collection[str]) -> Example | None:
    request, _, reply = (part.strip() for part in line.partition(_ARROW))
    try:
        words = shlex.split(reply)
    except ValueError:
        return None
    if not request or not words:
        return None
    if reply.startswith('"') and len(words) == 1:
        form = "ask" if words[0].endswith("?") else "answer"
        return Example(request, json.dumps({form: words[0]}, ensure_ascii=False), None, skill=skill)
    name, *values = words
    if name in scripts:
        arguments: dict[str, Any] = {"skill_id": skill, "script_name": name}
        if values:
            arguments["args"] = values
        return Example(request, call_text(RUN, arguments), RUN, name, tuple(values), skill)
    return Example(request, call_text(name, _named(values)), name, skill=skill)


def _named(values: Sequence[str]) -> dict[str, Any]:
    """Return `name=value` words as arguments; `names=Ann,Bo,` is a list, for its last comma."""
    pairs = (value.partition("=") for value in values)
    return {key: value.rstrip(",").split(",") if value.endswith(",") else value for key, _, value in pairs}


def nearest(request: str, examples: Sequence[Example], limit: int = MOST) -> list[Example]:
    """Return the examples that have most in common with a request, the nearest last.

    The last is what a model this small repeats most readily.
    """
    asked = _features(request)

    def likeness(example: Example) -> float:
        words = _features(example.request)
        return len(asked & words) / (len(words) or 1)

    ranked = sorted(enumerate(examples), key=lambda item: (-likeness(item[1]), item[0]))
    return [example for _, example in reversed(ranked[:limit])]


def scripts_for_words(examples: Sequence[Example]) -> set[str]:
    """Return the scripts that are shown with words only, where others are shown with identifiers.

    Whoever names an identifier does not want to look it up by words.
    """
    shown = [(example.script, any(map(has_identifier, example.values))) for example in examples]
    with_identifiers = {script for script, named in shown if script and named}
    others = {script for script, named in shown if script and not named}
    return others - with_identifiers if with_identifiers else set()


def _features(request: str) -> set[str]:
    """Return the words of a request; any identifier is like any other."""
    named = {"<identifier>"} if has_identifier(request) else set()
    return set(terms(without_identifiers(request))) | named
