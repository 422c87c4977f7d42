"""Answers about the skills themselves: from what they say of themselves, not from a model's words."""

import re
from collections.abc import Sequence

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
_SKILLS = re.compile(r"\bskills\b")
MAX_NAMED = 30
"""Skills that can be asked about by name, those that were spoken of first."""


def describable(skills: Sequence[SkillMetadata], said: str) -> list[str]:
    """Return the names of skills that a reply may be about."""
    spoken = said.casefold()
    ranked = sorted((skill.name for skill in skills), key=lambda name: (name.casefold() not in spoken, name))
    return ranked[:MAX_NAMED]


def is_named(skills: Sequence[SkillMetadata], request: str) -> bool:
    """Return whether a request names a skill, so that what is said of it must be its own words.

    A name without a hyphen is an everyday word until somebody calls it a skill.
    """
    asked = request.casefold()
    return any(skill.name.casefold() in asked and ("-" in skill.name or "skill" in asked) for skill in skills)


def asked_about(skills: Sequence[SkillMetadata], request: str) -> str | None:
    """Return the skill that a request asks to be described, ALL_SKILLS where it asks which there are.

    None where it has any other word: then it wants something done, or is for a model to understand.
    """
    rest = request.casefold()
    named = [skill.name for skill in skills if skill.name.casefold() in rest]
    for name in sorted(named, key=len, reverse=True):
        rest = rest.replace(name.casefold(), " ")
    words = set(terms(rest))
    if is_named(skills, request):
        return named[0] if len(named) == 1 and words <= _DESCRIBING else None
    return ALL_SKILLS if _SKILLS.search(rest) and words <= _DESCRIBING | _LISTING else None


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
