"""Score by shared terms: of name, description and triggers, and of the instructions."""

import hashlib
import heapq
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from skillkit.core.content import read_whole
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.header import split
from skillkit.core.models import SkillMetadata
from skillkit.core.text import one_line
from skillkit.matching.calibration import ANSWERED, BODY, BODY_SHARE, NAME, NAME_COVERED, PHRASE, WORDS
from skillkit.matching.index import Weighed, WordIndex
from skillkit.matching.request import Request
from skillkit.matching.store import IndexFile
from skillkit.matching.terms import count_terms, terms, usual_terms

LONGEST_DESCRIPTION, LONGEST_BODY = 8_192, 65_536
MOST_PHRASES = 64
LONGEST_SHOWN = 40
FEWEST_KEPT = 200
"""Minimum number of skills for storing an index in a file."""
_BATCH = 200
COMMON = 512
"""Document frequency from which a term finds no skills, and only adds to the score of skills found by
others."""
CANDIDATES = 200
"""Number of skills with the highest scores that are examined in detail."""
CLOSEST = 50
"""Number of skills whose coverage of the request is computed."""
ONE_MORE_WORD = 1.0
"""Weight of a virtual unmatched term, so that a single term does not cover a request."""
MOST_WORDS = 6
_QUOTED = re.compile(r"\"([^\"\n]{2,80})\"|“([^”\n]{2,80})”|(?<!\w)['‘]([^'‘’\n]{2,80})['’](?!\w)")
BodyReader = Callable[[SkillMetadata], str]


def read_body(skill: SkillMetadata) -> str:
    """Return the instructions from disk; the header is not parsed again."""
    data, _ = read_whole(skill.skill_path)
    return data[split(data).body_start :].decode("utf-8")


def quoted_phrases(description: str) -> tuple[str, ...]:
    """Return the distinct phrases that a description quotes as typical requests."""
    quoted = ("".join(groups).strip(" ,.;:") for groups in _QUOTED.findall(description[:LONGEST_DESCRIPTION]))
    return tuple(dict.fromkeys(phrase for phrase in quoted if phrase))[:MOST_PHRASES]


class SkillWords(NamedTuple):
    """The terms of one skill."""

    skill: SkillMetadata
    described: dict[str, float]
    """Count of each term in name, description and triggers."""
    body: Mapping[str, int]


class _QuotedTerms(NamedTuple):
    name: tuple[str, ...]
    phrases: tuple[tuple[str, ...], ...]
    """Terms of quoted phrases, and of declared keywords and verbs."""


class LexicalScorer:
    """Two term indexes, of descriptions and of instructions, and the phrases quoted by authors."""

    def __init__(self, read_body: BodyReader, folder: Path | None = None) -> None:
        """`read_body` returns a skill's instructions; `folder` keeps large indexes."""
        self.signals: tuple[str, ...] = ("lexical", "body")
        self._read = read_body
        self._folder = folder
        usual = usual_terms()
        self._words = WordIndex("words", WORDS, usual.descriptions)
        self._bodies = WordIndex("bodies", BODY, usual.bodies)
        self._skills: dict[int, SkillMetadata] = {}
        self._quoted: dict[int, _QuotedTerms] = {}

    def fill(self, skills: Sequence[SkillMetadata]) -> list[int]:
        """Index these skills as the initial library, and return their numbers."""
        if self._folder is None or len(skills) < FEWEST_KEPT:
            return self._fill_new(skills, 0)
        digests = [self._digest(skill) for skill in skills]
        file = IndexFile.find(self._folder, digests)
        if file is None:
            keys = self._fill_new(skills, 0)
            indexes = (self._words, self._bodies)
            kinds = {index.kind: index.postings for index in indexes}
            file = IndexFile.write(self._folder, list(zip(digests, keys, strict=True)), kinds)
            if file:
                for index in indexes:
                    index.rest_on(file, len(skills))
            return keys
        return self._fill_from(file, skills, digests)

    def _fill_from(
        self, file: IndexFile, skills: Sequence[SkillMetadata], digests: Sequence[bytes]
    ) -> list[int]:
        free = {digest: list(keys) for digest, keys in file.members.items()}
        kept: list[int | None] = [keys.pop() if (keys := free.get(each)) else None for each in digests]
        count = sum(map(len, file.members.values()))
        for index in (self._words, self._bodies):
            index.rest_on(file, count)
            for key in (key for keys in free.values() for key in keys):
                index.remove(key)
        new = iter(self._fill_new([one for one, key in zip(skills, kept, strict=True) if key is None], count))
        found = [next(new) if key is None else key for key in kept]
        self._skills.update(zip(found, skills, strict=True))
        return found

    def _fill_new(self, skills: Sequence[SkillMetadata], first: int) -> list[int]:
        for start in range(0, len(skills), _BATCH):
            for key, words in enumerate(self.read(skills[start : start + _BATCH]), first + start):
                self.add(key, words)
        return list(range(first, first + len(skills)))

    def _digest(self, skill: SkillMetadata) -> bytes:
        texts = (skill.name, skill.description, *skill.triggers.keywords, *skill.triggers.verbs)
        text = "\0".join((*texts, self._text(skill)))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]

    def empty(self) -> "LexicalScorer":
        return LexicalScorer(self._read, self._folder)

    def read(self, skills: Sequence[SkillMetadata]) -> list[SkillWords]:
        """Return the arguments of `add`: the slow part, which uses no mutable state of this object."""
        return [SkillWords(skill, _described(skill), count_terms(self._text(skill))) for skill in skills]

    def add(self, key: int, words: SkillWords) -> None:
        self._words.add(key, words.described)
        self._bodies.add(key, words.body, BODY.relative_length(sum(words.body.values())))
        self._skills[key] = words.skill

    def remove(self, key: int) -> None:
        del self._skills[key]
        self._quoted.pop(key, None)
        self._words.remove(key)
        self._bodies.remove(key)

    def scores(self, request: Request) -> dict[int, float]:
        """Return the skills that share the most with the request, with scores on a fixed scale."""
        weighed = self._words.weigh(request.words)
        in_bodies = self._bodies.weigh(request.words)
        total = _summed(
            [
                (self._words, weighed, self._words.factor(weighed)),
                (self._bodies, in_bodies, BODY_SHARE * self._bodies.factor(in_bodies)),
            ]
        )
        self._add_quoted(dict(weighed), total)
        self._prefer_answered(weighed, total)
        return {key: value for key, value in total.items() if value > 0}

    def reasons(self, request: Request, key: int) -> tuple[str, ...]:
        found = []
        for text, index in (("shares the word", self._words), ("its instructions mention", self._bodies)):
            shared = [term for term in request.words if index.worth(term, key)]
            shared.sort(key=index.weight, reverse=True)
            words = dict.fromkeys(one_line(request.words[term][:LONGEST_SHOWN]) for term in shared)
            if words:
                plural = "s" if index is self._words and len(words) > 1 else ""
                found.append(f"{text}{plural} {', '.join(list(words)[:MOST_WORDS])}")
        return tuple(found)

    def _add_quoted(self, asked: Mapping[str, float], total: dict[int, float]) -> None:
        """Add the bonus for terms shared with the name, or with a phrase that the author quotes."""
        asked_terms = asked.keys()
        scale = self._words.weights.evidence + sum(asked.values())
        scale = PHRASE * scale**-self._words.weights.coverage
        for key in total:
            name, phrases = self._quoted_of(key)
            best = 0.0
            for phrase in phrases:
                if not asked_terms.isdisjoint(phrase):
                    shared = sum([asked[term] for term in phrase if term in asked])
                    # The shared weight, times the share of the phrase that it covers.
                    best = max(best, shared * shared / self._weight(phrase))
            total[key] += scale * best
            if not asked_terms.isdisjoint(name):
                shared = sum([asked[term] for term in name if term in asked])
                total[key] += NAME_COVERED * shared / max(self._weight(name), 1.0)

    def _prefer_answered(self, weighed: Weighed, total: dict[int, float]) -> None:
        """Raise the scores of skills that cover more than half of the request, and lower the others."""
        asked = ONE_MORE_WORD + sum(weight for _, weight in weighed)
        answered = dict.fromkeys(heapq.nlargest(CLOSEST, total, key=total.__getitem__), 0.0)
        best = answered.keys()
        for term, weight in weighed:
            for key in self._words.having(term, best) | self._bodies.having(term, best):
                answered[key] += weight
        for key, weight in answered.items():
            total[key] *= 1 + ANSWERED * (weight / asked - 0.5)

    def _quoted_of(self, key: int) -> _QuotedTerms:
        known = self._quoted.get(key)
        if known is None:
            skill = self._skills[key]
            triggers = (*skill.triggers.keywords, *skill.triggers.verbs)
            phrases = (*quoted_phrases(skill.description), *triggers)
            term_sets = [tuple(dict.fromkeys(terms(phrase))) for phrase in phrases]
            name = tuple(dict.fromkeys(_name_terms(skill)))
            known = self._quoted[key] = _QuotedTerms(name, tuple(each for each in term_sets if each))
        return known

    def _weight(self, phrase: tuple[str, ...]) -> float:
        return sum(map(self._words.weight, phrase))

    def _text(self, skill: SkillMetadata) -> str:
        """Return the instructions; unreadable ones count as empty."""
        try:
            return self._read(skill)[:LONGEST_BODY]
        except (SkillsUseError, OSError, UnicodeDecodeError):
            return ""


def _summed(parts: Sequence[tuple[WordIndex, Weighed, float]]) -> dict[int, float]:
    """Return the scores of the best CANDIDATES; common terms find skills only if others find too few."""
    total: dict[int, float] = {}
    common: list[tuple[float, WordIndex, str]] = []
    for index, weighed, factor in parts:
        for term, weight in weighed:
            worth = weight * factor
            if index.occurs(term) > COMMON:
                common.append((worth, index, term))
                continue
            for key, value in index.scores(term):
                total[key] = total.get(key, 0.0) + worth * value
    common.sort(key=lambda one: -one[0])
    for _, index, term in common:
        if len(total) >= CANDIDATES:
            break
        for key, _ in index.scores(term):
            total.setdefault(key, 0.0)
    if len(total) > CANDIDATES:
        total = {key: total[key] for key in heapq.nlargest(CANDIDATES, total, key=total.__getitem__)}
    for worth, index, term in common:
        for key in total:
            total[key] += worth * index.worth(term, key)
    return total


def _described(skill: SkillMetadata) -> dict[str, float]:
    texts = (
        skill.description[:LONGEST_DESCRIPTION],
        *skill.triggers.keywords,
        *skill.triggers.verbs,
    )
    said = [term for text in texts for term in terms(text)]
    length = WORDS.relative_length(len(said))
    described = {term: count / length for term, count in Counter(said).items()}
    for term in _name_terms(skill):
        described[term] = described.get(term, 0.0) + NAME
    return described


def _name_terms(skill: SkillMetadata) -> list[str]:
    return terms(skill.name.replace("_", " "))
