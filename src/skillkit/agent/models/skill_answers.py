"""Answers about the skills themselves: from what they say of themselves, not from a model's words."""

import re
from collections.abc import Sequence

from skillkit.agent.models.constrained import ALL_SKILLS
from skillkit.agent.models.request_kinds import DESCRIBE, LIST, SKILL, kind_of, other_words
from skillkit.core.models import SkillMetadata
from skillkit.core.text import one_line
from skillkit.matching.terms import terms

_A_SKILL = re.compile(r"([\w-]+) skill\b", re.IGNORECASE)
_SKILL_FOR = re.compile(r"\bskill\b.*?\b(?:that|which|for|to|about)\b(.*)", re.IGNORECASE)
_CALLED = re.compile(
    r"\b(?:the|an?|on|about) [\"'“‘]?([\w-]+)[\"'”’]? skill\b"
    r"|\bskill (?:(?:called|named) )?[\"'“‘]?(\w+-[\w-]+)|\bskill (?:called|named) [\"'“‘]?(\w+)",
    re.IGNORECASE,
)
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")
_AND_THE = re.compile(
    r"(?:(?:ok(?:ay)?|and|also|now|then|so|what about|how about|tell me (?:more )?about|what does"
    r"|describe|explain),? )*"
    r"(?:the |that )?([\w -]{2,40}?)(?: one| skill)?(?: do| does)?\W*"
)
_IT = re.compile(r"\b(?:it|its)\b", re.IGNORECASE)
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


def spelling(name: str) -> str:
    """Return a pattern for a skill's name as people write it: `pdf-forms`, `pdf forms`, `pdf_forms`."""
    parts = map(re.escape, name.casefold().split("-"))
    return r"(?<![\w-])" + r"[\s_-]?".join(parts) + r"(?![\w-])"


def spoken_of(skills: Sequence[SkillMetadata], request: str, before: str) -> str | None:
    """Return the skill that a request calls `it`, after this was described."""
    told = _told_last(skills, before)
    return told if told not in (None, ALL_SKILLS) and _IT.search(request) else None


def may_be_about_skills(request: str) -> bool:
    """Return whether a request speaks of skills, or to somebody who can do something."""
    return re.search(r"\b(?:skills?|you|your|yourself|help)\b", request.casefold()) is not None


def asked_about(skills: Sequence[SkillMetadata], request: str, before: str = "") -> str | None:
    """Return the skill that a request asks to be described, ALL_SKILLS where it asks which there are.

    None where it wants something done, or is for a model to understand. The name may be of a skill that is
    not there. `before` is what was said before: `and the other one?`
    """
    named, marked = _named(skills, request)
    if not named and (next_one := _asked_next(skills, request, before)) is not None:
        return next_one
    loosely, again = _named(skills, request, loosely=True)
    if not named and loosely and not other_words(again, DESCRIBE):
        named, marked = loosely, again
    if not named and (it := spoken_of(skills, request, before)) is not None:
        named, marked = [it], _IT.sub(SKILL, request, count=1)
    kind = kind_of(marked, skills)
    if kind == LIST and "skill" not in request.casefold() and len(other_words(marked, LIST, skills)) > 1:
        return None  # what can you do about it
    if kind == LIST or (kind == DESCRIBE and len(named) > 1):
        return ALL_SKILLS
    if kind != DESCRIBE:
        return None
    return named[0] if named else _by_function(skills, request)


def _by_function(skills: Sequence[SkillMetadata], request: str) -> str | None:
    """Return the skill that is asked about by what it does: `what is the skill that greets people?`

    Of one that nobody has, the name by which it is called.
    """
    if found := _SKILL_FOR.search(request):
        return _nearest(skills, found[1]) or ALL_SKILLS
    called = _CALLED.search(request)
    return next(filter(None, called.groups())) if called else None


def _nearest(skills: Sequence[SkillMetadata], said: str) -> str | None:
    """Return the one skill whose name, or else description, has most of the words that were said."""
    words = set(terms(said))
    for text in (lambda skill: skill.name, lambda skill: f"{skill.name} {skill.description}"):
        shared = {skill.name: len(words & set(terms(text(skill)))) for skill in skills}
        best = [name for name, count in shared.items() if count == max(shared.values()) > 0]
        if len(best) == 1:
            return best[0]
    return None


def _told_last(skills: Sequence[SkillMetadata], before: str) -> str | None:
    """Return the skill that was described last, ALL_SKILLS where they were listed."""
    said = before.rstrip()
    if skills and said.endswith(describe(ALL_SKILLS, skills)):
        return ALL_SKILLS
    *_, last = ["", *said.splitlines()]
    return next((skill.name for skill in skills if last.startswith(describe(skill.name, skills))), None)


def _asked_next(skills: Sequence[SkillMetadata], request: str, before: str) -> str | None:
    """Return the skill that is asked about after others were told of: `and the second one?`"""
    told = _told_last(skills, before)
    found = _AND_THE.fullmatch(request.strip().casefold())
    if told is None or found is None:
        return None
    listed = sorted(skill.name for skill in skills)
    if told == ALL_SKILLS and found[1] in (*_ORDINALS[: len(listed)], "last"):
        return listed[-1 if found[1] == "last" else _ORDINALS.index(found[1])]
    asked = set(terms(found[1]))
    meant = [skill.name for skill in skills if asked and asked <= set(terms(skill.name))]
    if not meant and re.search(r"\b(?:one|skill)\b", request, re.IGNORECASE):
        meant = [skill.name for skill in skills if asked and asked <= set(terms(skill.description))]
    return meant[0] if len(meant) == 1 else None


def _named(skills: Sequence[SkillMetadata], request: str, *, loosely: bool = False) -> tuple[list[str], str]:
    """Return the skills that a request calls by their names, and the request with SKILL in their place.

    A name without a hyphen is an everyday word until somebody calls it a skill; so is one with a space for
    the hyphen, unless it is read `loosely`. `the greeting skill` is the one skill that has this word in its
    name, or else in its description.
    """
    called = "skill" in request.casefold()
    named = []
    for name in sorted((skill.name for skill in skills), key=len, reverse=True):
        exactly = rf"(?<![\w-]){re.escape(name)}(?![\w-])"
        marked = re.sub(spelling(name) if called or loosely else exactly, SKILL, request, flags=re.IGNORECASE)
        if marked != request and ("-" in name or called):
            named.append(name)
            request = marked
    found = _A_SKILL.search(request) if not named else None
    if found is not None and (meant := _nearest(skills, found[1])) is not None:
        named, request = [meant], f"{request[: found.start()]}{SKILL}{request[found.end() :]}"
    return named, request


def describe(name: str, skills: Sequence[SkillMetadata]) -> str:
    """Return what a skill says of itself, or which skills there are."""
    known = {skill.name: skill for skill in skills}
    if name in known:
        return f"{name}: {one_line(known[name].description)}"
    missing = "" if name == ALL_SKILLS else f"There is no skill called {name} here. "
    if not known:
        return f"{missing}I answer questions. No skills are loaded."
    count = f"{len(known)} skill{'s' * (len(known) != 1)}"
    listed = "\n".join(f"- {skill}: {one_line(known[skill].description)}" for skill in sorted(known))
    return f"{missing}I answer questions, and I have {count}:\n{listed}"
