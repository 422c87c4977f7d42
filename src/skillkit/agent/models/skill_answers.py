"""Answers about the skills themselves: from what they say of themselves, not from a model's words."""

import re
from collections.abc import Collection, Sequence
from difflib import get_close_matches
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
        "all any every everything available "
        "load loaded active activate enable enabled install installed present "
        "current currently ready list name names show display give see print count many have has got there "
        "right now moment please kind kinds which what wonder curious"
    )
)
_ADVERBS = frozenset(
    terms(
        "actually exactly really basically generally precisely overall simply quickly currently briefly "
        "specifically usually mainly roughly even else here today together in detail hey hi hello so well"
    )
)
"""Words that leave a question what it is."""
_CAPABILITY = re.compile(r"\s*(?:is|can|does|do|could|will|would|are|why|when|who)\b(?! (?:you|we|i)\b)")
"""How a question about what somebody does or is able to do begins."""
_SKILLS = re.compile(
    r"(?<![\w/.-])(?:skills|every skill)(?![\w/-])"
    r"|\b(?:capabilities|abilities|functionalities|features|tools)\b(?=.*\byou\b)"
    r"|\byour?\b.*\b(?:capabilities|abilities|functionalities|features|tools)\b"
)
_YOU_CAN = re.compile(
    r"\bwhat\b[^.?!]*\b(?:can|could|do|are|will) you\b(?! (?:doing|do that|think|mean|say|know|see)\b)"
    r"|\bwhat (?:all )?(?:is it |are the things )?(?:that )?you (?:can|could|are able)\b"
    r"|\bhow (?:can|could|do) you (?:help|assist|support)\b|\bwhat you (?:can|could|do|are)\b"
    r"|\bwhat (?:can|could|should|may) i (?:ask|use) you\b"
)
_YOU_HAVE = re.compile(
    r"\b(?:everything|anything|all|whatever|what)(?: that)? you(?:['’]ve| have| can)\b"
    r"|\bwhat (?:all )?(?:have you|do you have) (?:got|loaded|installed|available|there|ready)\b"
)
_ABILITY = _ADVERBS | frozenset(
    terms(
        "capable able ability capability feature function functionality tool offer assist support task ask "
        "new enumerate good stuff kinda way ways possess access for"
    )
)
"""Words of a question about what the program can do, beside those of any question."""
_IN_OTHER_LANGUAGES = re.compile(
    r"(?:was|wobei|womit) (?:kannst|können|koennen) (?:du|sie)\b"
    r"(?: (?:alles|mir|helfen|tun|machen|eigentlich|denn|für mich))*"
    r"|(?:que|qu['’]est-ce que) (?:peux|sais|pouvez)[- ](?:tu|vous) faire(?: pour moi)?"
    r"|(?:que|qu['’]est-ce que) (?:tu peux|tu sais|vous pouvez) faire(?: pour moi)?"
    r"|qu[ée] (?:puedes|sabes|puede) hacer(?: por m[ií])?"
    r"|(?:che )?cosa (?:puoi|sai) fare(?: per me)?|o que (?:você )?(?:pode|sabe) fazer(?: por mim)?"
    r"|wat kun je(?: allemaal| doen| voor mij)*"
    r"|(?:welche|quelles|quels|qu[ée]|cu[aá]les|quali|quais|welke)\b[^.?!,]*"
    r"\b(?:skills|fähigkeiten|faehigkeiten|compétences|competences|habilidades|competenze|vaardigheden)\b"
    r"(?: (?:hast|sind|gibt|as|avez|sont|tienes|tiene|hay|est[aá]n|hai|ci|sono|tem|você|heb|zijn|er|es|du"
    r"|vous|tu|je|geladen|aktiv|verfügbar|installiert|disponibles|chargées|cargadas|disponibili|disponíveis"
    r"|beschikbaar)|-tu|-vous| )*"
)
"""Which skills there are, and what the program can do, as it is asked in languages near to English."""
_ABOUT = r"\b(?:on|about|of|regarding) (?:the )?(?:skill )?"
_WHAT_IS = re.compile(r"\bwhat(?: is| are|['’]s| does)\b")
_HELP = re.compile(r"(?:please )?help(?: me)?(?: please)?")
_TYPING = 0.84
"""How near a mistyped word is to the one that was meant."""
_MISTYPED = ("skill", "skills", "available", "capabilities", "abilities", "loaded", "installed", "enabled")
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


def only_subject(request: str, name: str, of_use: Collection[str]) -> bool:
    """Return whether a skill is what a request is about and nothing more: `the lowdown on pdf-forms`.

    `of_use` are words by which the skill is put to use: with one of them something is to be done.
    """
    found = re.search(_ABOUT + spelling(name) + r"(?: skill)?\W*$", request.casefold())
    return found is not None and set(terms(request[: found.start()])).isdisjoint(of_use)


def may_be_about_skills(request: str) -> bool:
    """Return whether a request speaks of skills, or to somebody who can do something."""
    return re.search(r"\b(?:skills?|you|your|yourself|help)\b", request.casefold()) is not None


def asked_about(skills: Sequence[SkillMetadata], request: str) -> str | None:
    """Return the skill that a request asks to be described, ALL_SKILLS where it asks which there are.

    None where it has any other word: then it wants something done, or is for a model to understand.
    """
    named, rest = _named(skills, request)
    if named:
        return named[0] if len(named) == 1 and _asks_for_description(rest) else None
    rest = _MISSPELLED.sub(_corrected, rest)
    clauses = [rest, *re.split(r"[,.;:!?]+(?:\s|$)", rest)]  # a question may have an introduction
    return ALL_SKILLS if any(map(_asks_for_all, clauses)) else None


def _asks_for_description(rest: str) -> bool:
    """Return whether what is said beside a skill's name asks what it is."""
    if set(terms(rest)) <= _DESCRIBING | _ADVERBS:
        return True
    if "script" in rest:
        return False
    if _CAPABILITY.match(rest):
        return True
    *introduction, question = [part for part in re.split(r"(?<=[.!?])\s+|\s[-–—]\s", rest) if part.strip()]
    about_it = re.search(r"\b(?:it|its|that|this)\b", question) is not None
    return bool(introduction) and about_it and set(terms(question)) <= _DESCRIBING | _ADVERBS


def _asks_for_all(clause: str) -> bool:
    words = set(terms(clause))
    said = clause.strip(" ¿?!.")
    if _HELP.fullmatch(said) or _IN_OTHER_LANGUAGES.fullmatch(said):
        return True
    if _SKILLS.search(clause) or _YOU_HAVE.search(clause):
        return words <= _DESCRIBING | _LISTING | _ABILITY
    return _YOU_CAN.search(clause) is not None and words <= _ABILITY


_MISSPELLED = re.compile(r"\b(?:u|[a-z]{5,})\b")


def _corrected(word: re.Match[str]) -> str:
    """Return the word of questions about skills that was meant by one with a slip in it."""
    if word[0] == "u":
        return "you"
    return next(iter(get_close_matches(word[0], _MISTYPED, 1, _TYPING)), word[0])


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
    if not named and len(loosely := _loosely_named(skills, rest)) == 1:
        return loosely, re.sub(spelling(loosely[0]), " ", rest)
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


def _loosely_named(skills: Sequence[SkillMetadata], request: str) -> list[str]:
    """Return the skills whose names are in a request with a space for the hyphen.

    These are words that may mean their subject: somebody has to call them a skill, or to ask for nothing but
    what they are.
    """
    found = []
    for name in (skill.name for skill in skills if "-" in skill.name):
        rest = re.sub(spelling(name), " ", request)
        described = set(terms(rest)) <= _DESCRIBING | _ADVERBS and (terms(rest) or _WHAT_IS.search(rest))
        if rest != request and ("skill" in rest or described):
            found.append(name)
    return found


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
