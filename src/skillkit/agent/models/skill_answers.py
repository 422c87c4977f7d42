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
        "short sentence one two word words beginner skill called good need use used help work offer thing "
        "info information detail details"
    )
)
_LISTING = frozenset(
    terms(
        "all any every everything available "
        "load loaded active activate enable enabled install installed present "
        "current currently ready list name names show display give see print count many have has got there "
        "right now moment please pls plz kind kinds sort sorts which what wonder curious"
    )
)
_ADVERBS = frozenset(
    terms(
        "actually exactly really basically generally precisely overall simply quickly currently briefly "
        "specifically usually mainly roughly even else here today together in detail hey hi hello so well "
        "pls plz please thx kindly anyway"
    )
)
"""Words that leave a question what it is."""
_CAPABILITY = re.compile(r"\s*(?:is|can|does|do|could|will|would|are|why|when|who)\b(?! (?:you|we|i)\b)")
"""How a question about what somebody does or is able to do begins."""
_SKILLS = re.compile(
    r"(?<![\w/.-])(?:skills|every skill)(?![\w/-])"
    r"|\b(?:capabilities|abilities|functionalities|features|tools)\b(?=.*\byou\b)"
    r"|\b(?:what|which) (?:capabilities|abilities)\b"
    r"|\byour?\b.*\b(?:capabilities|abilities|functionalities|features|tools)\b"
)
_YOU_CAN = re.compile(
    r"\bwhat\b[^.?!]*\b(?:can|could|do|are|will) you\b(?! (?:doing|do that|think|mean|say|know|see)\b)"
    r"|\bwhat (?:all )?(?:is it |are the things )?(?:that )?you (?:can|could|are able)\b"
    r"|\bhow (?:can|could|do) you (?:help|assist|support)\b|\bwhat you (?:can|could|do|are)\b"
    r"|\bwhat\b[^.?!]*\b(?:can|could|should|may) i (?:ask|use|get) (?:from )?you\b"
    r"|\bwhat can i do (?:here|with you)\b"
)
_CAN_YOU = re.compile(
    r"\b(?:can|could) you (?:do|help)(?: me)? (?:with )?(?:anything|something|stuff|things)"
    r" (?:with|about|for|in)\b"
    r"|\bwhat else (?:is there|(?:can|could) you do)\W*$"
)
"""Whether there is anything for a subject, or anything more."""
_YOU_HAVE = re.compile(
    r"\b(?:everything|anything|all|whatever|what)(?: that)? you(?:['’]ve| have| can)\b"
    r"|\bwhat (?:all )?(?:have you|do you have) (?:got|loaded|installed|available|there|ready)\b"
)
_ABILITY = _ADVERBS | frozenset(
    terms(
        "capable able ability capability feature function functionality tool offer assist support task ask "
        "new enumerate good stuff kinda way ways possess access for remind again come ship bring"
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
    r"|vous|tu|je|gerade|jetzt|aktuell|momentan|zurzeit|alles|actuellement|maintenant|ahora|actualmente|adesso"
    r"|ora|agora|nu|momenteel|geladen|aktiv|verfügbar|installiert|disponibles|chargées|cargadas|disponibili|disponíveis"
    r"|beschikbaar)|-tu|-vous| )*"
)
"""Which skills there are, and what the program can do, as it is asked in languages near to English."""
_ABOUT = r"\b(?:on|about|of|regarding) (?:the )?(?:skill )?"
_WHAT_IS = re.compile(r"\bwhat(?: is| are|['’]?s|\s+does)\b")
_BESIDES = re.compile(
    r"\b(?:besides|beside|other than|apart from|aside from|except(?: for)?|in addition to)\b.*"
)
_OF_IT = re.compile(
    r"\W*(?:so |and |but )?(?:(?:what|which|how|why|when)\b(?:\s\w+){0,2}?\s)?"
    r"(?:does|do|can|could|is|will|would|did|has) it\b(?! (?:that|likely|true|possible))"
)
"""How a question begins whose subject is the skill that was named before."""
_COMPARES = re.compile(r"\b(?:differences?|differs?|compare|comparison|versus|vs|tell\b.*\bapart)\b")
_IT = re.compile(r"\b(?:it|its)\b")
_ASKING = re.compile(
    r"\W*(?:which|how|when|where|why|is|are|does|do|can|could|has|have|will"
    r"|was|wie|wozu|wof[uü]r|que|quoi|qu['’]|comment|qu[eé]|para|c[oó]mo|cosa|che|come|o que|como"
    r"|wat|hoe|hvad|vad)\b"
)
"""How a question begins, also in languages near to English."""
_BY_MEANS_OF = re.compile(r"\b(?:with|via|using|through|by|from|in|on|use)\s+(?:the |your )?(?:skill )?$")
_ON_TOPIC = re.compile(r"\b(?:about|on|for|of|regarding)\s+(?!(?:it|its|that|this|me|you|free)\b)\w")
_BY_FUNCTION = re.compile(
    r"\b(?<!which )skill (?:that|which|for|to|about|with which|you use to)\b(.*)"
    r"|^\W*which skill\b(.*)"
)
_TELLING = re.compile(
    r"\W*(?:please |can you |could you |i(?:['’]d| would) like (?:to know )?|so |and |hey |ok(?:ay)? )*"
    r"(?:what|tell|describe|explain|summari[sz]e|how does|(?:some |any |more )?(?:info|information|details?)"
    r"|more about|who)\b"
)
"""How a request begins that wants to be told something."""
_IS_THERE = re.compile(r"\b(?:is there|are there|do you have|have you(?: got)?|got)\b(?=.*\bskill\b)")
_CALLED = re.compile(
    r"\bskill (?:called |named )?[\"'“”‘’]?([a-z\d][\w-]{1,63})[\"'“”‘’]?\W*(?:do|does|is|for)?\W*$"
    r"|\b(?:the|an?|on|about) [\"'“‘]?([a-z\d][\w-]{1,63})[\"'”’]? skill\b"
)
_NO_NAMES = (
    _DESCRIBING
    | _LISTING
    | _ADVERBS
    | frozenset(
        terms(
            "best worst first second third last only other another right same main new next whole "
            "entire following"
        )
    )
)
"""Words that say which skill is meant without being its name."""
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")
_AND_THE = re.compile(
    r"(?:(?:ok(?:ay)?|and|also|now|then|so|what about|how about|tell me (?:more )?about|what does"
    r"|describe|explain),? )*"
    r"(?:the |that )?([\w -]{2,40}?)(?: one| skill)?(?: do| does)?\W*"
)
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

    `of_use` are words by which the skill is put to use: with one of them something is to be done. So it is
    with what a question has after the name: `what does pdf-forms say about taxes?`
    """
    asked = request.casefold()
    found = re.search(_ABOUT + spelling(name) + r"(?: skill)?\W*$", asked)
    if found is None and (_TELLING.match(asked) or _ASKING.match(asked)):
        found = re.search(spelling(name), asked) or re.search(r"\b\w+ skill\b", asked)
        if (
            found is None
            or _BY_MEANS_OF.search(asked[: found.start()])
            or _ON_TOPIC.search(asked[found.end() :])
        ):
            return False
    if found is None:
        return False
    rest = f"{asked[: found.start()]} {asked[found.end() :]}"
    return set(terms(rest)).isdisjoint(of_use)


def spoken_of(skills: Sequence[SkillMetadata], request: str, before: str) -> str | None:
    """Return the skill that a request calls `it`, after this was described."""
    *_, last = ["", *before.strip().splitlines()]
    told = [skill.name for skill in skills if last.startswith(describe(skill.name, skills))]
    return told[0] if told and _IT.search(request.casefold()) else None


def may_be_about_skills(request: str) -> bool:
    """Return whether a request speaks of skills, or to somebody who can do something."""
    return re.search(r"\b(?:skills?|you|your|yourself|help)\b", request.casefold()) is not None


def asked_about(skills: Sequence[SkillMetadata], request: str, before: str = "") -> str | None:
    """Return the skill that a request asks to be described, ALL_SKILLS where it asks which there are.

    None where it has any other word: then it wants something done, or is for a model to understand. The
    name may be of a skill that is not there. `before` is what was said before: `and the other one?`
    """
    named, rest = _named(skills, request)
    if len(named) > 1:
        return ALL_SKILLS if _COMPARES.search(rest) else None
    if named:
        return named[0] if _asks_for_description(rest.lstrip(" :;,.-–—")) else None
    if (next_one := _asked_next(skills, request.casefold(), before)) is not None:
        return next_one
    rest = _JOINED.sub(r"\1 are", _MISSPELLED.sub(_corrected, rest))
    clauses = [rest, *re.split(r"[,.;:!?]+(?:\s|$)", rest)]  # a question may have an introduction
    if any(map(_asks_for_all, clauses)):
        return ALL_SKILLS
    if _CAN_YOU.search(rest):
        return ALL_SKILLS
    return _by_function(skills, rest) or _not_there(rest)


def _by_function(skills: Sequence[SkillMetadata], request: str) -> str | None:
    """Return the skill that is asked about by what it does: `what is the skill that greets people?`"""
    found = _BY_FUNCTION.search(request)
    if found is None:
        return None
    for_what = set(terms(found[1] or found[2] or "")) - _DESCRIBING
    wanted = {skill.name: len(for_what & set(terms(f"{skill.name} {skill.description}"))) for skill in skills}
    most = max(wanted.values(), default=0)
    best = [name for name, count in wanted.items() if count == most > 0]
    if _IS_THERE.search(request[: found.start() + len("skill")]):
        return best[0] if len(best) == 1 else ALL_SKILLS
    if found[2] is not None:
        return best[0] if len(best) == 1 else None
    told = _TELLING.match(request) and set(terms(request[: found.start()])) <= _DESCRIBING | _ADVERBS
    return best[0] if told and len(best) == 1 else None


def _not_there(request: str) -> str | None:
    """Return the name of a skill that a request asks about and that nobody has."""
    found = _CALLED.search(request)
    if found is None or not _TELLING.match(request):
        return None
    name = found[1] or found[2]
    rest = request.replace(name, " ")
    is_name = not set(terms(name)) <= _NO_NAMES
    return name if is_name and set(terms(rest)) <= _DESCRIBING | _ADVERBS else None


def _asked_next(skills: Sequence[SkillMetadata], request: str, before: str) -> str | None:
    """Return the skill that is asked about after others were told of: `and the second one?`"""
    said = before.rstrip()
    *_, last = ["", *said.splitlines()]
    told = [skill.name for skill in skills if last.startswith(describe(skill.name, skills))]
    if said.endswith(describe(ALL_SKILLS, skills)):
        told.insert(0, ALL_SKILLS)
    if told and told[0] != ALL_SKILLS and _OF_IT.match(request) and "script" not in request:
        return told[0]
    found = _AND_THE.fullmatch(request.strip())
    if not told or found is None:
        return None
    listed = sorted(skill.name for skill in skills)
    if told[0] == ALL_SKILLS and found[1] in (*_ORDINALS[: len(listed)], "last"):
        return listed[-1 if found[1] == "last" else _ORDINALS.index(found[1])]
    asked = set(terms(found[1]))
    meant = [skill.name for skill in skills if asked and asked <= set(terms(skill.name))]
    if not meant and re.search(r"\b(?:one|skill)\b", request):
        meant = [skill.name for skill in skills if asked and asked <= set(terms(skill.description))]
    return meant[0] if len(meant) == 1 else None


def _asks_for_description(rest: str) -> bool:
    """Return whether what is said beside a skill's name asks what it is."""
    if set(terms(rest)) <= _DESCRIBING | _ADVERBS:
        return True
    if "script" in rest:
        return False
    if _CAPABILITY.match(rest):
        return True
    *introduction, question = [part for part in re.split(r"(?<=[.!?])\s+|\s[-–—]\s", rest) if part.strip()]
    if _OF_IT.match(question):
        return True
    about_it = re.search(r"\b(?:it|its|that|this)\b", question) is not None
    return bool(introduction) and about_it and set(terms(question)) <= _DESCRIBING | _ADVERBS


def _asks_for_all(clause: str) -> bool:
    if _SKILLS.search(clause) or _YOU_CAN.search(clause):
        clause = _BESIDES.sub("", clause)
    words = set(terms(clause))
    said = clause.strip(" ¿?!.")
    if _HELP.fullmatch(said) or _IN_OTHER_LANGUAGES.fullmatch(said):
        return True
    if _SKILLS.search(clause) or _YOU_HAVE.search(clause):
        return words <= _DESCRIBING | _LISTING | _ABILITY
    return _YOU_CAN.search(clause) is not None and words <= _ABILITY


_JOINED = re.compile(r"\b(you)['’]?re\b")
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
    missing = "" if name == ALL_SKILLS else f"There is no skill called {name} here. "
    if not known:
        return f"{missing}I answer questions. No skills are loaded."
    count = f"{len(known)} skill{'s' * (len(known) != 1)}"
    listed = "\n".join(f"- {skill}: {one_line(known[skill].description)}" for skill in sorted(known))
    return f"{missing}I answer questions, and I have {count}:\n{listed}"
