"""The scripts that examples of skills show, and which of them a request is for."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from skillkit.agent.models.asked_parts import declared_for, is_for_knowledge
from skillkit.agent.models.constrained import Answer, Call, ToolSpec
from skillkit.agent.models.examples import RUN, Example
from skillkit.agent.models.given_values import said_choices
from skillkit.agent.models.identifiers import (
    begin_alike,
    count_parts,
    example_identifiers,
)
from skillkit.agent.models.request_kinds import words_of_patterns
from skillkit.agent.models.script_requests import Narrowed, choosing, content_words, fill, is_option
from skillkit.agent.models.spoken_times import clock_time, spoken_time
from skillkit.agent.models.unsupported import refusal
from skillkit.core.foreign_json import parse_json
from skillkit.core.models import SkillMetadata
from skillkit.matching.terms import STOP_WORDS, terms

FEW_WORDS = 5
"""So many words are taken as they are; of more, a model chooses those that matter."""
_LITTLE = 0.1
"""What a word of the skill's name counts: it says which skill is meant, and not which script."""
_ENOUGH = 0.5
_IS_IT = r"(?:.*\b(?:whether|if) )?(?:is|are|(?=(?:the )?\S+ (?:is|are)\b))\s*(?:the )?([\w-]+)"
_YES_OR_NO = re.compile(r"(?:is|are|can|does|do|has|will)\b", re.IGNORECASE)
OKAY = re.compile(
    r"^(?:(?:ok(?:ay)?|great|good|nice|thanks|thank you|cool|perfect|please)\b[,.! ]*)+", re.IGNORECASE
)
GOES_ON = re.compile(r"^(?:and|also|now|what about|how about)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\b(?:\d+|two|three|four|five|ten|twenty|fifty|hundred)\b", re.IGNORECASE)
_TIME = re.compile(
    r"\b(?:right now|at the moment|currently|today|tonight|tomorrow|already|still|yet"
    r"|(?:this|next|last|coming) (?:day|week|weekend|month|quarter|season|year))\b",
    re.IGNORECASE,
)
_ASKED_KINDLY = re.compile(
    r"^(?:(?:please|can you|could you|would you|will you|hey|hi|ok(?:ay)?|now|and|then|go|kindly|just"
    r"|i(?: want|['’]d like) you to),? )+",
    re.IGNORECASE,
)
_SOMEBODY = re.compile(r"(?<=[\w,;] )(?<!\bin )(?<!\binto )[^\W\d_a-zß-ÿ][^\W\d_]+")
"""A name in the middle of a sentence that is not of a language."""
_REFUSAL = re.compile(r"I (?:cannot|can['’]t|can only)\b")


@dataclass(frozen=True, slots=True)
class Way:
    """A script as examples use it: with an identifier, with words, or with nothing."""

    skill: str
    script: str
    examples: list[Example] = field(default_factory=list)

    @property
    def words(self) -> set[str]:
        """Words of requests for it that are not its values."""
        return _name_terms(self.script).union(*(_frame(example) for example in self.examples))

    @property
    def takes_identifier(self) -> bool:
        return any(example_identifiers(example.values) for example in self.examples)

    @property
    def takes_words(self) -> bool:
        given = [value for example in self.examples for value in example.values]
        return bool(given) and not self.takes_identifier and not any(map(is_option, given))

    @property
    def takes_time(self) -> bool:
        return any(clock_time(value) for example in self.examples for value in example.values)

    @property
    def by_options(self) -> bool:
        return any(map(is_option, (value for example in self.examples for value in example.values)))

    @property
    def takes_anything(self) -> bool:
        return any(example.values for example in self.examples)


class Ways:
    """The scripts that examples show, and which of them a request is for."""

    def __init__(self, examples: Sequence[Example], skills: Sequence[SkillMetadata]) -> None:
        ways: dict[tuple[str, str], Way] = {}
        for example in examples:
            if example.script is not None:
                key = example.skill, example.script
                ways.setdefault(key, Way(*key)).examples.append(example)
        self.all = list(ways.values())
        self.identifiers = [each for example in examples for each in example_identifiers(example.values)]
        self._examples = examples
        self.skills = skills
        self._skill_names = set().union(*(_name_terms(skill.name) for skill in skills))

    def refusal(self, request: str) -> str | None:
        """Return what a skill says to a request that begins like one that it cannot meet."""
        asked = terms(request)[:1]
        for example in self._examples:
            text = parse_json(example.reply).get("answer", "") if example.tool is None else ""
            if _REFUSAL.match(text) and asked == terms(example.request)[:1]:
                return str(text)
        return None

    def with_identifier(
        self, request: str, identifiers: Sequence[str], run: ToolSpec
    ) -> Call | Narrowed | None:
        rest = _without(request, identifiers)
        asked = set(terms(rest))
        way, example = self._belonging(request, identifiers[0]) or (None, None)
        if way is None:
            takers = [way for way in self.all if way.takes_identifier]
            way = self._named(rest, takers) or self._best(rest, takers)[0] or self._of_kind(identifiers[0])
        if way is None:
            return None
        settled = {"skill_id": way.skill, "script_name": way.script}
        rest_of_it = content_words(request[request.find(identifiers[0]) :])[1:] if example else []
        more = (
            [word for word in rest_of_it if f"--{word.casefold()}" not in example.values] if example else []
        )
        if more or _NUMBER.search(rest):
            return Narrowed(choosing(run, **settled), (way.skill, way.script))
        example = example or max(way.examples, key=lambda example: len(asked & _frame(example)))
        return Call(RUN, {**settled, "args": fill(example, identifiers[0])})

    def _named(self, request: str, ways: Sequence[Way]) -> Way | None:
        """Return the one script whose name is said as it is, and is not a word of the skill's name."""
        words = re.findall(r"[^\W_]+", request.casefold())
        spelled = {*words, *map("".join, pairwise(words))}
        found = [
            way
            for way in ways
            if way.script.replace("_", "") in spelled and not _name_terms(way.script) <= self._skill_names
        ]
        return found[0] if len(found) == 1 else None

    def for_value(self, request: str, run: ToolSpec, usage: Callable[[str, str], str]) -> Narrowed | None:
        """Return the one script beside tools that takes what a request tells: a time of day, or a choice."""
        found = [
            way
            for way in self.all
            if way.by_options
            and self._has_tools(way)
            and declared_for(request, self._skills(way))
            and (
                (way.takes_time and spoken_time(request) is not None)
                or said_choices(usage(way.skill, way.script), request)
            )
        ]
        if len(found) != 1 or is_for_knowledge(request):
            return None
        way = found[0]
        shown = [example for example in self._examples if example.skill == way.skill]
        begun = any(begins_with_verb(request, skill) for skill in self._skills(way))
        named = _SOMEBODY.search(re.sub(r"\b[AP]M\b", " ", request))
        if not named or refusal(request) is not None or not is_command(request, shown, begun=begun):
            return None
        tool = choosing(run, skill_id=way.skill, script_name=way.script)
        return Narrowed(tool, (way.skill, way.script))

    def _has_tools(self, way: Way) -> bool:
        return any(each.skill == way.skill and each.tool not in (None, RUN) for each in self._examples)

    def _skills(self, way: Way) -> list[SkillMetadata]:
        return [skill for skill in self.skills if skill.name == way.skill]

    def _belonging(self, request: str, identifier: str) -> tuple[Way, Example] | None:
        """Return the script for what belongs to a thing, and its example: `the loans of book BK-1234-A`.

        The word in front of the identifier says what this is, so it is not what is wanted: that is a script
        which has this word as an option, and whose name was said.
        """
        named = re.escape(identifier)
        kind = re.search(rf"(?<!\w)(?:(\w+)[\s:]+)?{named}(?:\s+(\w+))?(?!\w)", request, re.IGNORECASE)
        if kind is None:
            return None
        spelled = _spelled(request[: kind.start()])
        options = {f"--{word.casefold()}" for word in kind.groups("")}
        found = [
            (way, example)
            for way in self.all
            if _spelled(way.script.replace("_", " ")) <= spelled
            for example in way.examples
            if options.intersection(example.values) and example_identifiers(example.values)
        ]
        return found[0] if len(found) == 1 else None

    def _of_kind(self, identifier: str) -> Way | None:
        """Return the first script that is shown with an identifier of as many parts, and as it begins."""
        return next(
            (
                way
                for way in self.all
                for example in way.examples
                for shown in example_identifiers(example.values)
                if count_parts(shown) == count_parts(identifier) and begin_alike(shown, identifier)
            ),
            None,
        )

    def with_words(self, request: str, run: ToolSpec) -> Call | Narrowed | Answer | None:
        if any(skill.name.casefold() in request.casefold() for skill in self.skills):
            return None  # it is about the skill
        words = self._topic(request)
        alone, enough = self._best(request, [way for way in self.all if not way.takes_anything])
        way, points = self._best(request, self.all)
        leads = alone is not None and enough >= max(_ENOUGH, points - _LITTLE)
        of_itself = leads and alone is not None and self._is_subject(request, alone)
        yes_or_no = len(words) == 1 and leads and _YES_OR_NO.match(request)
        if alone is not None and enough >= _ENOUGH and (not words or yes_or_no or of_itself):
            return Call(RUN, {"skill_id": alone.skill, "script_name": alone.script})
        if way is not None and points >= _ENOUGH and way.takes_identifier and all(map(str.isdigit, words)):
            return Answer(f"Which one do you mean, for {way.script}?")
        declared = self._declared(request)
        if declared is None and is_for_knowledge(request) and not self._is_worded_alike(request):
            return None  # an everyday word of a script's name is too little: what events led to a war
        if way is None or points < _ENOUGH or not way.takes_anything:
            way = declared
        elif way.takes_identifier:  # what is named by words has to be found first
            named = not self._skill_names.isdisjoint(terms(request))
            elsewhere = declared is None and not named and refusal(request) is not None  # the price of gold
            way = None if elsewhere else self._finding(way.skill)
        if way is None or not words or not way.takes_words:
            return None
        settled = {"skill_id": way.skill, "script_name": way.script}
        if len(words) <= FEW_WORDS:
            return Call(RUN, {**settled, "args": words})
        return Narrowed(_choosing_words(choosing(run, **settled), words))

    def _is_subject(self, request: str, way: Way) -> bool:
        """Return whether it is asked how a skill is, or what a script tells of: `is the library open or …`"""
        own = self._skill_names | way.words
        asked = re.match(_IS_IT, request, re.IGNORECASE)
        return asked is not None and not own.isdisjoint(terms(asked[1]))

    def again(self, request: str, last: Call | None) -> Call | None:
        """Return the last call with other words, for a request that only names another topic."""
        request = OKAY.sub("", request)
        arguments = last.arguments if last is not None else {}
        found = [
            way
            for way in self.all
            if way.takes_words
            and {"skill_id": way.skill, "script_name": way.script}.items() <= arguments.items()
        ]
        words = self._topic(GOES_ON.sub("", request))
        if not found or not GOES_ON.match(request) or not 0 < len(words) <= FEW_WORDS:
            return None
        return Call(RUN, {**arguments, "args": words})

    def _declared(self, request: str) -> Way | None:
        """Return the one script that takes words of a skill that declares when it is wanted."""
        return self._finding(*declared_for(request, self.skills))

    def _is_worded_alike(self, request: str) -> bool:
        """Return whether a request has a word of examples that is not of the name of a script."""
        asked = set(terms(request)).difference(*(_name_terms(way.script) for way in self.all))
        return any(not asked.isdisjoint(_frame(example)) for way in self.all for example in way.examples)

    def _finding(self, *skills: str) -> Way | None:
        """Return the one script of these skills that finds things by words."""
        found = [way for way in self.all if way.skill in skills and way.takes_words]
        return found[0] if len(found) == 1 else None

    def _topic(self, request: str) -> list[str]:
        """Return the words of a request that are not about how it is asked."""
        asking = self._skill_names.union(*(way.words for way in self.all))
        asking.update(*(trigger_words(skill) for skill in self.skills))
        return content_words(_TIME.sub(" ", request), asking)

    def _best(self, request: str, ways: Sequence[Way]) -> tuple[Way | None, float]:
        """Return the way that has most of its own words in a request, if there is one such.

        Of several the one with an example that is worded most alike.
        """
        asked, spelled = set(terms(request)), _spelled(request)
        counts = {word: sum(word in way.words for way in ways) for word in asked}
        worth = {
            word: (_LITTLE if word in self._skill_names else 1) / count
            for word, count in counts.items()
            if count
        }
        points = [
            sum(worth[word] for word in asked & way.words)
            + (_LITTLE / 2 if spelled & _spelled(way.script) else 0)
            for way in ways
        ]
        best = max(points, default=0.0)
        leading = [way for way, reached in zip(ways, points, strict=True) if reached == best]
        if len(leading) > 1:
            telling = {word for word in spelled if word not in STOP_WORDS}
            alike = [
                max(
                    (len(telling & (own := _spelled(example.request))), len(spelled & own))
                    for example in way.examples
                )
                for way in leading
            ]
            leading = [way for way, count in zip(leading, alike, strict=True) if count == max(alike)]
        return (leading[0] if best > 0 and len(leading) == 1 else None), best


def _choosing_words(tool: ToolSpec, words: Sequence[str]) -> ToolSpec:
    """Return a tool whose command line is made of these words, at least one."""
    given = {"type": "array", "items": {"type": "string", "enum": list(dict.fromkeys(words))}, "minItems": 1}
    properties: Mapping[str, object] = tool.parameters.get("properties", {})
    required = [*tool.parameters.get("required", ()), "args"]
    parameters = {**tool.parameters, "properties": {**properties, "args": given}, "required": required}
    return replace(tool, parameters=parameters)


def trigger_words(skill: SkillMetadata) -> set[str]:
    """Return the words of what a skill declares to be wanted for, those in its patterns too."""
    triggers = skill.triggers
    return set(terms(" ".join((*triggers.keywords, *triggers.verbs, words_of_patterns(triggers.patterns)))))


def _spelled(text: str) -> set[str]:
    """Return the words of a text as they stand there."""
    return set(re.findall(r"[^\W_]+", text.casefold()))


def _name_terms(name: str) -> set[str]:
    return set(terms(name.replace("_", " ")))


def _frame(example: Example) -> set[str]:
    """Return the words of an example's request that are not its values."""
    return set(terms(_without(example.request, example.values))) - set(terms(" ".join(example.values)))


def _without(text: str, words: Sequence[str]) -> str:
    for word in words:
        text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", " ", text, flags=re.IGNORECASE)
    return text


def begins_with_verb(request: str, skill: SkillMetadata) -> bool:
    begins, _, rest = _ASKED_KINDLY.sub("", request).partition(" ")
    return bool(rest) and not set(terms(begins)).isdisjoint(terms(" ".join(skill.triggers.verbs)))


def is_command(request: str, examples: Sequence[Example], *, begun: bool = False) -> bool:
    """Return whether a request begins like an example that calls a tool, or names somebody.

    `begun` is whether it begins with a verb that the skill declares.
    """
    verbs = {example.request.split()[0].casefold() for example in examples if example.tool not in (None, RUN)}
    begins = _ASKED_KINDLY.sub("", request).partition(" ")[0].casefold()
    return bool(verbs) and (begun or begins in verbs or _SOMEBODY.search(request) is not None)
