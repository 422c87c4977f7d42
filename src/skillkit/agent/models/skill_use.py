"""What a request comes to by the skills in use: known without the model, or what the model may reply."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from agent_framework import Message

from skillkit.agent.models.asked_parts import (
    declared_for,
    has_word_of,
    is_for_knowledge,
    is_self_contained,
    may_be_for,
    needs_no_tool,
    refers_back,
)
from skillkit.agent.models.chat_requests import is_repeated, last_call
from skillkit.agent.models.constrained import (
    ALL_SKILLS,
    ANSWER,
    ASK,
    CANNOT,
    IN_WORDS,
    Answer,
    Call,
    ToolSpec,
)
from skillkit.agent.models.example_calls import (
    call_like_example,
    goes_on_with,
    tools_like_example,
    words_of_use,
)
from skillkit.agent.models.examples import Example, scripts_for_words
from skillkit.agent.models.grounding import Spoken, callable_tools, scripts_for_identifier
from skillkit.agent.models.identifiers import has_identifier
from skillkit.agent.models.reply_choice import Choice
from skillkit.agent.models.script_requests import (
    SCRIPT_TOOLS,
    Narrowed,
    Scripts,
    call_for_script,
    names_tool,
)
from skillkit.agent.models.skill_answers import (
    asked_about,
    describable,
    describe,
    is_named,
    may_be_about_skills,
    named_skill,
    spoken_of,
)
from skillkit.agent.models.skill_text import sentences_about
from skillkit.agent.models.unsupported import needs_only_words, refusal
from skillkit.core.models import SkillMetadata
from skillkit.matching.terms import terms

LOAD = "load_skill"
_OF_SKILLS = frozenset({LOAD, "read_skill_resource"})
"""Tools of any skill: their names say nothing of what it is for."""
_SKILLS = re.compile(r"\bskills\b", re.IGNORECASE)
_INTERJECTIONS = re.compile(
    r"(?:(?:lol|lmao|ha(?:ha)+|hehe|ok(?:ay)?|kk?|nice|cool|great|wow|oh|ah|aha|hm+|uh|um|yes|yeah|yep|no|nope"
    r"|sure|right|alright|fine|well|perfect|awesome|thx|thanks|thank you|ty|cheers|yo|hey|hi|hello|bye"
    r"|goodbye|good(?: (?:morning|afternoon|evening|night|day))?"
    r"|see you(?: (?:later|soon|tomorrow|around))?|then|so)\b\W*)+",
    re.IGNORECASE,
)
"""What asks for nothing: `lol ok`."""


@dataclass(frozen=True, slots=True)
class SkillUse:
    """The skills of a request: which there are, and what those in use bring along."""

    skills: Sequence[SkillMetadata]
    """The skills that the user may be told of."""
    examples: Sequence[Example]
    """The examples of the skills in use."""
    scripts: Scripts
    """The skills in use with their scripts."""
    usage: Callable[[str, str], str] = lambda skill, script: ""
    """What a script of a skill takes on its command line."""

    @property
    def _in_use(self) -> list[SkillMetadata]:
        return [skill for skill in self.skills if skill.name in self.scripts]

    @property
    def _shown(self) -> list[SkillMetadata]:
        """The skills that have examples."""
        names = {example.skill for example in self.examples}
        return [skill for skill in self.skills if skill.name in names]

    def choice(
        self,
        tools: Sequence[ToolSpec],
        spoken: Spoken,
        narrowed: Narrowed | None,
        *,
        required: bool,
        last: Call | None = None,
    ) -> Choice:
        """Return what the model may reply; `last` is the last call before."""
        if narrowed is not None:
            return Choice([narrowed.tool])
        if required:
            return Choice(tools)
        if _INTERJECTIONS.fullmatch(spoken.request.strip()) and not spoken.before.rstrip().endswith("?"):
            return Choice(forms=(ANSWER,))
        skills, in_use = self.skills, self._in_use
        named = is_named(skills, spoken.request)
        if not named and is_self_contained(spoken.request, in_use):
            # from what the request says, not from what a tool finds
            return Choice(forms=(ANSWER,))
        callable_now = self._callable(tools, spoken)
        goes_on = last is not None and refers_back(spoken.request)
        if not named and not goes_on and self._needs_no_tool(spoken.request, in_use, callable_now):
            callable_now = []
        unsupported = refusal(spoken.request, spoken.before) is not None
        about: Sequence[str] = ()
        if named or may_be_about_skills(spoken.request):
            about = (ALL_SKILLS, *describable(skills, spoken.said))
        if not named and goes_on_with(spoken.request, last):
            again = [tool for tool in callable_now if last is not None and tool.name == last.tool]
            if again and again[0].name not in SCRIPT_TOOLS:
                return Choice([*again, *self._beside(again[0], callable_now)], forms=(ASK,))
        if not named and (
            like := tools_like_example(_with_question(spoken), callable_now, self.examples, self._shown)
        ):
            return Choice(like, forms=(ASK,))
        forms: Sequence[str] = IN_WORDS if callable_now else (ANSWER, CANNOT)
        in_words = needs_only_words(spoken.request) or is_for_knowledge(spoken.request)
        in_words = in_words or _INTERJECTIONS.fullmatch(spoken.request.strip()) is not None
        if not callable_now and in_words:  # a small model refuses too readily
            forms = (ANSWER,)
        if unsupported:  # there is nothing to answer from
            forms = (ASK, CANNOT)
        if named:  # what is said of a skill comes from the skill, not from what the model knows
            forms = ()
        return Choice(callable_now, about, forms, named=named)

    def _beside(self, tool: ToolSpec, tools: Sequence[ToolSpec]) -> list[ToolSpec]:
        """Return the other tools that the examples of the same skill call."""
        skills = {example.skill for example in self.examples if example.tool == tool.name}
        names = {example.tool for example in self.examples if example.skill in skills} - SCRIPT_TOOLS
        return [other for other in tools if other.name in names and other.name != tool.name]

    def _loading(self, tool: ToolSpec, said: str) -> ToolSpec | None:
        """Return a tool that loads skills, for those that have a word of what was said; None for none."""
        if tool.name != LOAD or not (offered := _choices_of(tool)):
            return tool
        known = {skill.name: skill for skill in self.skills}
        kept = [name for name in offered if name not in known or has_word_of(said, known[name])]
        properties = tool.parameters["properties"]
        chosen = {**properties, "skill_id": {**properties["skill_id"], "enum": kept}}
        return replace(tool, parameters={**tool.parameters, "properties": chosen}) if kept else None

    def _needs_no_tool(
        self, request: str, in_use: Sequence[SkillMetadata], tools: Sequence[ToolSpec]
    ) -> bool:
        loadable = {name for tool in tools if tool.name == LOAD for name in _choices_of(tool)}
        if not loadable and any(tool.name == LOAD for tool in tools):
            return False
        near = [skill for skill in self.skills if skill.name in loadable]
        scripts = [name for names in self.scripts.values() for name in names]
        own = [tool.name for tool in tools if tool.name not in SCRIPT_TOOLS and tool.name not in _OF_SKILLS]
        return needs_no_tool(request, [*in_use, *near], [*scripts, *own])

    def known_outcome(
        self, tools: Sequence[ToolSpec], spoken: Spoken, messages: Sequence[Message]
    ) -> Call | Narrowed | Answer | None:
        """Return what a request comes to where that is known without the model."""
        skills, examples = self.skills, self.examples
        if (subject := asked_about(skills, spoken.request, spoken.before)) is not None:
            return self._told(subject, spoken)
        known: Call | Narrowed | Answer | None
        named = named_skill(skills, spoken.request) or spoken_of(skills, spoken.request, spoken.before)
        known = call_for_script(spoken.request, tools, self.scripts, examples, named)
        if known is None and not names_tool(spoken.request, tools):
            known = call_like_example(
                _with_question(spoken) if has_identifier(spoken.request) else spoken.request,
                tools,
                examples,
                skills,
                said=spoken.said,
                last=last_call(messages),
                usage=self.usage,
            )
        if isinstance(known, Call) and is_repeated(known, messages):
            return None
        loads = all(tool.name == LOAD for tool in self._callable(tools, spoken))
        if known is None and named is not None and loads:
            return self._told(named, spoken)
        if known is None and named is None and (loads or self._is_for_none(tools, spoken.request)):
            unsupported = refusal(spoken.request, spoken.before)  # a skill for it would be in use
            return Answer(unsupported) if unsupported is not None else None
        return known

    def _is_for_none(self, tools: Sequence[ToolSpec], request: str) -> bool:
        """Return whether no skill in use declares a request, and nobody said a word of a tool or a script."""
        names = [*(tool.name for tool in tools), *(name for each in self.scripts.values() for name in each)]
        said = set(terms(request)).intersection(terms(" ".join(names).replace("_", " ")))
        return not said and not may_be_for(request, self._in_use)

    def _told(self, subject: str, spoken: Spoken) -> Answer:
        """Return what a skill says of itself, and to what was asked."""
        described = describe(subject, self.skills)
        more = sentences_about(subject, spoken.request, described, spoken.instructions)
        return Answer(f"{described} {more}".rstrip())

    def _callable(self, tools: Sequence[ToolSpec], spoken: Spoken) -> list[ToolSpec]:
        declared = declared_for(spoken.request, self._shown)
        of_use = () if declared else words_of_use(self.examples, self.skills)
        about_skills = [skill for skill in self._in_use if _SKILLS.search(skill.description)]
        found = callable_tools(tools, spoken, of_use, for_skills=bool(about_skills))
        found = [tool for one in found if (tool := self._loading(one, spoken.said)) is not None]
        if not has_identifier(spoken.request):
            return found
        return scripts_for_identifier(found, scripts_for_words(self.examples), spoken.request)


def _choices_of(tool: ToolSpec) -> Sequence[str]:
    """Return the skills that a tool lets choose."""
    properties = tool.parameters.get("properties", {})
    return [str(name) for name in properties.get("skill_id", {}).get("enum", ())]


def _with_question(spoken: Spoken) -> str:
    """Return a request together with the one before, where it answers a question that this led to."""
    *_, before, question = ["", "", *spoken.before.strip().splitlines()]
    answers = question.rstrip().endswith("?") and not spoken.request.rstrip().endswith("?")
    return f"{before} {spoken.request}" if before and answers else spoken.request
