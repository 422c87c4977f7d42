"""What a request is for by the examples of skills: one that is like an example is done as the example is."""

import re
from collections.abc import Callable, Mapping, Sequence

from skillkit.agent.models.asked_parts import declared_for, is_for_knowledge, is_self_contained
from skillkit.agent.models.constrained import Answer, Call, ToolSpec
from skillkit.agent.models.examples import RUN, Example, speaks_of_script
from skillkit.agent.models.identifiers import (
    find_identifiers,
)
from skillkit.agent.models.script_requests import Narrowed
from skillkit.agent.models.script_ways import GOES_ON, OKAY, Ways, begins_with_verb, is_command, trigger_words
from skillkit.core.foreign_json import parse_json
from skillkit.core.models import SkillMetadata
from skillkit.matching.terms import terms

_SHORT = 7
"""So many words only change something of what was asked before."""
_LEAD = 3
"""So many words in front of a value say what is wanted."""
_EXPLAINS = re.compile(
    r"^(?:please )?(?:explain|define|why|how (?:do|does|did|can|is|are)|what(?:'s|’s| is| are| was) an?)\b"
    r"|\bwhat (?:do|does) .* mean\b|\b(?:write|translate|spell|rephrase|summari[sz]e)\b",
    re.IGNORECASE,
)
_SAME_THING = re.compile(rf"\b(?:it|its|that|this|same)\b|{GOES_ON.pattern}", re.IGNORECASE)


def call_like_example(
    request: str,
    tools: Sequence[ToolSpec],
    examples: Sequence[Example],
    skills: Sequence[SkillMetadata],
    *,
    said: str = "",
    last: Call | None = None,
    usage: Callable[[str, str], str] = lambda skill, script: "",
) -> Call | Narrowed | Answer | None:
    """Return what a request is for, by the examples of skills; None where a model has to find out.

    `said` is what was said before and `last` the last call, for a request that goes on from them; `usage` is
    what a script of a skill takes.
    """
    run = next((tool for tool in tools if tool.name == RUN), None)
    ways = Ways(examples, [skill for skill in skills if any(skill.name == each.skill for each in examples)])
    if run is None or not ways.all:
        return None
    if (refusal := ways.refusal(request)) is not None:
        return Answer(refusal)
    identifiers = find_identifiers(request, ways.identifiers)
    if not identifiers and (_EXPLAINS.search(request) or is_self_contained(request, ways.skills)):
        return None
    same = not identifiers and _SAME_THING.search(request) is not None
    if same:
        identifiers = find_identifiers(said, ways.identifiers)[-1:]
    if identifiers:
        found = ways.with_identifier(request, identifiers, run) if len(identifiers) == 1 else None
        return found if found is not None or not same else ways.again(request, last)
    known = ways.for_value(request, run, usage) or ways.again(request, last) or ways.with_words(request, run)
    if isinstance(known, Answer) and (named := find_identifiers(said, ways.identifiers)[-1:]):
        return ways.with_identifier(request, named, run)  # it is the one that was spoken of
    return known


def tools_like_example(
    request: str,
    tools: Sequence[ToolSpec],
    examples: Sequence[Example],
    skills: Sequence[SkillMetadata] = (),
) -> list[ToolSpec]:
    """Return the tools that examples use for what is asked in their words: `say hi to` somebody.

    That are the words in front of a value of the example, in front of something else. Of few such words
    what follows has to be a name. So it is for a skill that declares the request, where this names somebody
    or begins as examples do. A script is among them where a word was said that only its examples have.
    """
    wanted = {example.skill for example in examples if _is_worded_like(request, example)}
    if not is_for_knowledge(request):
        for skill in skills:
            shown = [example for example in examples if example.skill == skill.name]
            begun = begins_with_verb(request, skill)
            if (begun or declared_for(request, [skill])) and is_command(request, shown, begun=begun):
                wanted.add(skill.name)
    shown = [example for example in examples if example.skill in wanted]
    names = {example.tool for example in shown} - {None, RUN}
    if names and speaks_of_script(request, shown):
        names.add(RUN)
    return [tool for tool in tools if tool.name in names]


def goes_on_with(request: str, last: Call | None) -> bool:
    """Return whether a short request wants the last call again with something else: `now in Japanese`."""
    few = len(request.split()) <= _SHORT
    return last is not None and few and GOES_ON.search(OKAY.sub("", request)) is not None


def _is_worded_like(request: str, example: Example) -> bool:
    if example.tool in (None, RUN):
        return False
    arguments: Mapping[str, object] = parse_json(example.reply).get("arguments", {})
    values = [
        each for value in arguments.values() for each in (value if isinstance(value, list) else [value])
    ]
    places = [found.start() for value in values if (found := _standing_alone(value, example.request))]
    lead = example.request[: min(places, default=0)].split()[-_LEAD:]
    if not lead:
        return False
    words = r"\s+".join(map(re.escape, lead))
    found = re.search(rf"\b{words}\s+(\w)", request, re.IGNORECASE)
    return found is not None and (len(lead) == _LEAD or not found[1].islower())


def _standing_alone(value: object, text: str) -> re.Match[str] | None:
    return re.search(rf"(?<!\w){re.escape(str(value))}(?!\w)", text)


def words_of_use(examples: Sequence[Example], skills: Sequence[SkillMetadata]) -> set[str]:
    """Return the words by which the skills of these examples say that they are wanted."""
    names = {example.skill for example in examples}
    words = {word for example in examples for word in terms(example.request)}
    return words.union(*(trigger_words(skill) for skill in skills if skill.name in names))
