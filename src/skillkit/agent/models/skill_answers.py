"""Answers about the skills themselves: from what they say of themselves, not from a model's words."""

import re
from collections.abc import Sequence
from functools import partial

from skillkit.agent.models.constrained import ALL_SKILLS
from skillkit.core.models import SkillMetadata
from skillkit.core.text import one_line
from skillkit.matching.terms import terms

_DESCRIBING = frozenset(
    terms(
        "describe description explain summary summarise summarize tell know purpose overview brief briefly "
        "short sentence one two word words beginner skill called good need use used help work offer thing"
    )
)
_LISTING = frozenset(
    terms(
        "all any every available load loaded active activate enable enabled install installed present "
        "current currently ready list name names show display give see print count many have has got there "
        "right now moment please kind kinds which what"
    )
)
_CAPABILITY = re.compile(r"\s*(?:is|can|does|do|could|will|would|are|why|when|who)\b(?! (?:you|we|i)\b)")
"""How a question about what somebody does or is able to do begins."""
_SKILLS = re.compile(r"\b(?:skills|every skill)\b")
_YOU_CAN = re.compile(
    r"\bwhat\b[^.?!]*\b(?:can|could|do|are|will) you\b(?! (?:doing|do that|think|mean|say|know|see)\b)"
    r"|\bhow (?:can|could|do) you (?:help|assist|support)\b|\bwhat you (?:can|could|do|are)\b"
    r"|\bwhat (?:can|could|should|may) i (?:ask|use) you\b"
)
_ABILITY = frozenset(
    terms("capable able ability capability feature function offer assist support task ask new enumerate")
)
"""Words of a question about what the program can do, beside those of any question."""
MAX_NAMED = 30
"""Skills that can be asked about by name, those that were spoken of first."""


def describable(skills: Sequence[SkillMetadata], said: str) -> list[str]:
    """Return the names of skills that a reply may be about."""
    spoken = said.casefold()
    ranked = sorted((skill.name for skill in skills), key=lambda name: (name.casefold() not in spoken, name))
    return ranked[:MAX_NAMED]


def is_named(skills: Sequence[SkillMetadata], request: str) -> bool:
    """Return whether a request names a skill, so that what is said of it must be its own words."""
    return bool(_named(skills, request)[0])


def named_skill(skills: Sequence[SkillMetadata], request: str) -> str | None:
    """Return the one skill that a request names."""
    named, _ = _named(skills, request)
    return named[0] if len(named) == 1 else None


def may_be_about_skills(request: str) -> bool:
    """Return whether a request speaks of skills, or to somebody who can do something."""
    return re.search(r"\b(?:skills?|you|your|yourself|help)\b", request.casefold()) is not None


def asked_about(skills: Sequence[SkillMetadata], request: str) -> str | None:
    """Return the skill that a request asks to be described, ALL_SKILLS where it asks which there are.

    None where it has any other word: then it wants something done, or is for a model to understand.
    """
    named, rest = _named(skills, request)
    words = set(terms(rest))
    if named:
        describes = words <= _DESCRIBING or (_CAPABILITY.match(rest) and "script" not in rest)
        return named[0] if len(named) == 1 and describes else None
    clauses = [rest, *re.split(r"[,.;:!?]", rest)]  # a question may have an introduction
    return ALL_SKILLS if any(map(_asks_for_all, clauses)) else None


def _asks_for_all(clause: str) -> bool:
    words = set(terms(clause))
    if _SKILLS.search(clause):
        return words <= _DESCRIBING | _LISTING | _ABILITY
    return _YOU_CAN.search(clause) is not None and words <= _ABILITY


def _named(skills: Sequence[SkillMetadata], request: str) -> tuple[list[str], str]:
    """Return the skills that a request calls by their names, and the request without these.

    A name without a hyphen is an everyday word until somebody calls it a skill. `the greeting skill` is the
    one skill that has this word in its name, or else in its description.
    """
    rest = request.casefold()
    named = [skill.name for skill in skills if skill.name.casefold() in rest]
    named = [name for name in named if "-" in name or "skill" in rest]
    for name in sorted(named, key=len, reverse=True):
        rest = rest.replace(name.casefold(), " ")
    for word in re.findall(r"\b(\w+) skill\b", rest) if not named else ():
        stems = set(terms(word)) - _LISTING
        by_name = [skill.name for skill in skills if stems & set(terms(skill.name))]
        by_text = [skill.name for skill in skills if stems & set(terms(skill.description))]
        if len(found := by_name or by_text) == 1:
            named += found
            own = next(skill for skill in skills if skill.name == found[0])
            ours = set(terms(f"{own.name} {own.description}"))
            before = rf"(?:\b\w+ ){{0,2}}\b{re.escape(word)} skill\b"  # the prediction market skill
            rest = re.sub(before, partial(_besides, own=ours), rest)
    return named, rest


def _besides(said: re.Match[str], own: set[str]) -> str:
    """Return what was said without the words of a skill."""
    return " ".join(word for word in said[0].removesuffix("skill").split() if not set(terms(word)) & own)


def describe(name: str, skills: Sequence[SkillMetadata]) -> str:
    """Return what a skill says of itself, or which skills there are."""
    known = {skill.name: skill for skill in skills}
    if name in known:
        return f"{name}: {one_line(known[name].description)}"
    if not known:
        return "I answer questions. No skills are loaded."
    count = f"{len(known)} skill{'s' * (len(known) != 1)}"
    listed = "\n".join(f"- {skill}: {one_line(known[skill].description)}" for skill in sorted(known))
    return f"I answer questions, and I have {count}:\n{listed}"
