"""What kind of request one is, by how often its words stand in requests of each kind.

The requests are lines of `request_kinds.txt`, by kind. They say SKILL for the name of a skill, USE for a word
by which a skill is asked for, NAME for a name and ID for an identifier, so that what is learned of them is
true of any skill.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from skillkit.agent.models.identifiers import find_identifiers
from skillkit.core.models import SkillMetadata
from skillkit.matching.terms import is_usual, terms

LIST, DESCRIBE = "list", "describe"
"""The kinds that are asked for by name; the others are what a request may be instead."""
SKILL = "SKILL"
_USE, _NAME, _ID, _NUMBER, _QUOTE = "USE", "NAME", "ID", "NUMBER", "QUOTED"
_MARKS = frozenset({SKILL, _USE, _NAME, _ID, _NUMBER, _QUOTE})
_QUOTED = re.compile(r"(?<!\w)(?:'[^'\n]+'|‘[^’\n]+’|\"[^\"\n]+\"|“[^”\n]+”|«[^»\n]+»)(?!\w)")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|\?")
_SMOOTHING = 0.1
"""What a kind is credited with for a word that none of its requests has."""
_ENOUGH = 1.5
"""How much likelier than any other a kind has to be, as a logarithm."""
_NONE: Counter[str] = Counter()
_PAIR = 0.7
"""What two words in a row count beside one: a pair says more, and its words are counted already."""


@dataclass(frozen=True, slots=True)
class RequestKinds:
    """Kinds of requests, and how many of each have a word or two words in a row."""

    requests: Counter[str]
    having: Mapping[str, Counter[str]]

    @classmethod
    def learn(cls, lines: Iterable[tuple[str, str]]) -> "RequestKinds":
        """Return what requests of known kinds show."""
        requests: Counter[str] = Counter()
        having: dict[str, Counter[str]] = {}
        for kind, request in lines:
            requests[kind] += 1
            for feature in _features(_words(request)):
                having.setdefault(feature, Counter())[kind] += 1
        return cls(requests, having)

    def scores(self, words: Sequence[str]) -> dict[str, float]:
        """Return how much likelier than any other each kind is, as a logarithm."""
        features = [feature for feature in _features(words) if feature in self.having]
        return {kind: self._score(kind, features) for kind in self.requests}

    def others(self, words: Iterable[str], kind: str) -> list[str]:
        """Return the ordinary words that are in no request of a kind."""
        return [
            word
            for word in words
            if word not in _MARKS
            and not self.having.get(word, _NONE)[kind]
            and any(map(is_usual, terms(word)))
        ]

    def _score(self, kind: str, features: Sequence[str]) -> float:
        own, all_of_them = self.requests[kind], self.requests.total()
        score = math.log(own / all_of_them) / 2
        for feature in features:
            here = self.having[feature][kind]
            elsewhere = self.having[feature].total() - here
            share = (here + _SMOOTHING) / (own + 2 * _SMOOTHING)
            others = (elsewhere + _SMOOTHING) / (all_of_them - own + 2 * _SMOOTHING)
            score += (_PAIR if " " in feature else 1) * math.log(share / others)
        return score


def kind_of(request: str, skills: Sequence[SkillMetadata]) -> str | None:
    """Return the kind of a request in which skills are called SKILL; None where its words say too little."""
    scores = _known().scores(_words(request, _use_of(skills)))
    kind = max(scores, key=lambda kind: scores[kind])
    return kind if scores[kind] >= _ENOUGH else None


def other_words(request: str, kind: str, skills: Sequence[SkillMetadata] = ()) -> list[str]:
    """Return the ordinary words of a request that no request of a kind has: it speaks of something else."""
    return _known().others(_words(request, _use_of(skills)), kind)


@lru_cache(maxsize=1)
def _known() -> RequestKinds:
    text = resources.files(__package__).joinpath("request_kinds.txt").read_text("utf-8")
    return RequestKinds.learn(read_lines(text))


def read_lines(text: str) -> Iterable[tuple[str, str]]:
    """Yield the requests of a file with their kinds, which stand in brackets above them."""
    kind = ""
    for line in text.splitlines():
        if line.startswith("["):
            kind = line.strip("[]")
        elif line and not line.startswith("#"):
            yield kind, line


@dataclass(frozen=True, slots=True)
class _Use:
    """Words by which skills are asked for."""

    stems: Collection[str] = ()
    phrases: re.Pattern[str] | None = None


_NO_USE = _Use()


def _use_of(skills: Sequence[SkillMetadata]) -> _Use:
    """Return what skills declare to be wanted for: words and phrases, and the words in their patterns."""
    phrases = [phrase for skill in skills for phrase in (*skill.triggers.keywords, *skill.triggers.verbs)]
    patterns = [pattern for skill in skills for pattern in skill.triggers.patterns]
    spelled = "|".join(sorted(map(re.escape, phrases), key=len, reverse=True))
    return _Use(
        frozenset(terms(words_of_patterns(patterns))),
        re.compile(rf"(?<!\w)(?:{spelled})\w*", re.IGNORECASE) if phrases else None,
    )


def words_of_patterns(patterns: Iterable[str]) -> str:
    """Return the words that stand in patterns, without what is a sign there: the b of `\\bodds`."""
    return " ".join(re.findall(r"[^\W\d_]{3,}", re.sub(r"\\.", " ", " ".join(patterns))))


def _words(request: str, use: _Use = _NO_USE) -> list[str]:
    text = _QUOTED.sub(f" {_QUOTE} ", request)
    if use.phrases is not None:
        text = use.phrases.sub(f" {_USE} ", text)
    identifiers = set(find_identifiers(text)) - _MARKS
    for identifier in identifiers:
        text = text.replace(identifier, f" {_ID} ")
    return [_word(word, place, use.stems) for place, word in enumerate(_WORD.findall(text))]


def _word(word: str, place: int, stems: Collection[str]) -> str:
    if word in _MARKS:
        return word
    if word.isdigit():
        return _NUMBER
    if stems and not set(terms(word)).isdisjoint(stems):
        return _USE
    if place and word[0].isupper() and word not in ("I", "OK") and not word.startswith(("I'", "I’")):
        return _NAME
    return word.casefold().replace("’", "'")


def _features(words: Sequence[str]) -> set[str]:
    """Return the words of a request, and those that follow each other."""
    return {*words, *(f"{one} {other}" for one, other in zip(("^", *words), (*words, "$"), strict=True))}
