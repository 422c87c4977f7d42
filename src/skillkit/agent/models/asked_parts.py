"""The parts of a request: what it asks for, and what it only mentions, quotes or brings along."""

import re
from collections.abc import Iterable, Sequence

from skillkit.agent.models.identifiers import has_identifier
from skillkit.agent.models.unsupported import is_about_given_text, is_computable, refusal
from skillkit.core.models import SkillMetadata
from skillkit.matching.request import Request
from skillkit.matching.terms import terms
from skillkit.matching.triggers import TriggerFinder

_QUOTED = re.compile(
    r"(?<!\w)(?:'[^'\n]{1,200}'|‘[^’\n]{1,200}’|\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|«[^»\n]{1,200}»)(?!\w)"
)
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|\n+")
_REFERS = re.compile(
    r"\b(?:it|its|that|this|these|those|them|they|him|her|his|their|there|one|ones|so|same)\b", re.IGNORECASE
)
_EXPLAINS = re.compile(
    r"^(?:(?:so|and|but|please|hey|hi|hello|ok(?:ay)?|can you|could you|tell me),? )*"
    r"(?:(why|explain|define|translate)\b(?! (?:don['’]?t|not))"
    r"|what(?:['’]s| is| are) an? \w+(?: \w+)?(?:\W*$|[,?]))"
    r"|\bwhat (?:do|does) .* (?:mean|stand for)\b|\bhow (?:do|does|did) .* work\b",
    re.IGNORECASE,
)
_CONFIDES = re.compile(
    r"(?:(?:oh|wow|well|haha|so|and|but|yeah|yes|no|ok(?:ay)?|thanks),? )*"
    r"(?:i|we) (?:(?:really|just|absolutely|totally|always|never|still|also|kind of|do|did)(?:n['’]t)? )*"
    r"(?:love|like|enjoy|hate|dislike|adore|miss|prefer|lost|won|made|had|was|were|am|are|felt|feel|trust)\b"
    r"(?! (?:looking|wondering|curious|interested|trying|told|asked|supposed|here|to)\b)[^?:,.;!\n]*[.!]*",
    re.IGNORECASE,
)
"""What somebody says of himself: `I love prediction markets!`"""
_ON_KNOWLEDGE = re.compile(
    r"^(?:(?:so|and|but|please|hey|hi|hello|ok(?:ay)?|can you|could you|tell me),? )*"
    r"(?:explain|define|why|how|what|what['’]s|who|whose|when|where|which|write|translate|spell|rephrase|rewrite"
    r"|summari[sz]e|suggest|recommend|compose|draft|invent|correct|proofread|calculate|compute)\b"
    r"|\bwhat (?:do|does) .* mean\b|\bhow (?:do|can|would|should) (?:i|you|we|one)\b"
    r"|[,;] how (?:old|many|much|far|long|often|tall|big)\b|^(?:should|would) (?:i|we|one)\b",
    re.IGNORECASE,
)


def without_quoted(request: str) -> str:
    """Return a request without what it quotes: `what does 'hola' mean` greets nobody."""
    return _QUOTED.sub(" ", request)


def asking_part(request: str) -> str:
    """Return the question, or the work on words, at the end of a request that tells something first.

    One that speaks of `it` or `them` cannot be understood without what was told before: then it is the
    request.
    """
    *told, last = [part for part in _SENTENCE.split(request.strip()) if part] or [""]
    asks = last.endswith("?") or is_for_knowledge(last)
    stands_alone = asks and not _REFERS.search(last) and len(last.split()) > _ELLIPTIC
    return (
        last
        if told and not any(part.endswith(("?", "…", "...")) for part in told) and stands_alone
        else request
    )


_ELLIPTIC = 3
"""So few words go on from what was said before: `any market on Mars?`"""


def is_for_knowledge(request: str) -> bool:
    """Return whether a request asks for what one knows, or for work on words."""
    return _ON_KNOWLEDGE.search(request) is not None


def declared_for(request: str, skills: Sequence[SkillMetadata]) -> list[str]:
    """Return the names of the skills that declare to be wanted for such a request."""
    scorer = TriggerFinder()
    for key, skill in enumerate(skills):
        scorer.add(key, skill)
    return [skills[key].name for key in scorer.hits(Request.parse(request))]


def is_self_contained(request: str, skills: Sequence[SkillMetadata]) -> bool:
    """Return whether a request has all that its answer needs, so that none of these skills is for it.

    That is a probability by the rules of a game, what somebody says of himself and asks nothing, work on a
    text that follows, an explanation or translation unless that is what a skill does, and a question that is
    for no skill by itself: only what it quotes, or what was told before it, is.
    """
    if is_computable(request) or _CONFIDES.fullmatch(without_quoted(request).strip()):
        return True
    if is_about_given_text(request) and not may_be_for(request.partition(":")[0], skills):
        return True
    if (explains := _EXPLAINS.search(request)) is not None and not has_identifier(request):
        done = {word for skill in skills for word in terms(_own_words(skill))}
        return set(terms(explains[1] or "")).isdisjoint(done)
    asked = asking_part(without_quoted(request))
    return asked != request and is_for_knowledge(asked) and not may_be_for(asked, skills)


def needs_no_tool(request: str, skills: Sequence[SkillMetadata], names: Iterable[str]) -> bool:
    """Return whether a question, or work on words, is for none of these skills.

    It is for one that declares it; a skill that does not say when it is wanted has a word with it in common.
    `names` are those of scripts and tools: who says one of these may want it.
    """
    asked = asking_part(without_quoted(request))
    named = terms(" ".join(names).replace("_", " "))
    return (
        bool(skills)
        and is_for_knowledge(asked)
        and refusal(asked) is None
        and not may_be_for(asked, skills)
        and set(terms(asked)).isdisjoint(named)
    )


def refers_back(request: str) -> bool:
    """Return whether a request speaks of something that was said before it."""
    return _REFERS.search(request) is not None


def _declares(skill: SkillMetadata) -> bool:
    triggers = skill.triggers
    return bool(triggers.keywords or triggers.verbs or triggers.patterns)


def may_be_for(request: str, skills: Sequence[SkillMetadata]) -> bool:
    """Return whether a skill declares a request, or does not say when it is wanted and has a word of it."""
    words = {word for skill in skills if not _declares(skill) for word in terms(_own_words(skill))}
    return bool(declared_for(request, skills)) or not set(terms(request)).isdisjoint(words)


def has_word_of(request: str, skill: SkillMetadata) -> bool:
    """Return whether a request has a word of what a skill says of itself."""
    return not set(terms(request)).isdisjoint(terms(_own_words(skill)))


def _own_words(skill: SkillMetadata) -> str:
    return " ".join((skill.name, skill.description, *skill.triggers.keywords, *skill.triggers.verbs))
