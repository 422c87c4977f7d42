"""Scores by shared words: of name, description and triggers, and of the instructions."""

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
"""Skills from which an index is worth a file."""
_BATCH = 200
COMMON = 512
"""Skills from which a word only adds to the score of skills that other words have found."""
CANDIDATES = 200
"""Skills that are looked at closely, of those that share the most."""
CLOSEST = 50
"""Skills for which it is counted how much of the request they answer."""
ONE_MORE_WORD = 1.0
"""Weight of a word imagined unanswered, so that a request of one word is not answered by it alone."""
MOST_WORDS = 6
_QUOTED = re.compile(r"\"([^\"\n]{2,80})\"|“([^”\n]{2,80})”|(?<!\w)['‘]([^'‘’\n]{2,80})['’](?!\w)")
BodyReader = Callable[[SkillMetadata], str]


def read_body(skill: SkillMetadata) -> str:
    """The instructions as they are on disk: their words only, so the header is not judged again."""
    data, _ = read_whole(skill.skill_path)
    return data[split(data).body_start :].decode("utf-8")


def quoted_phrases(description: str) -> tuple[str, ...]:
    """The phrases that a description quotes as typical requests, once each."""
    quoted = ("".join(groups).strip(" ,.;:") for groups in _QUOTED.findall(description[:LONGEST_DESCRIPTION]))
    return tuple(dict.fromkeys(phrase for phrase in quoted if phrase))[:MOST_PHRASES]


class SkillWords(NamedTuple):
    """What counts of one skill."""

    skill: SkillMetadata
    described: dict[str, float]
    """Term → how often it occurs in name, description and triggers."""
    body: Mapping[str, int]


class _Quoted(NamedTuple):
    name: tuple[str, ...]
    phrases: tuple[tuple[str, ...], ...]
    """Terms of the phrases that the author quotes, and of declared keywords and verbs."""


class LexicalScorer:
    """Two word indexes, of descriptions and of instructions, and what their authors quote."""

    def __init__(self, read_body: BodyReader | None = None, folder: Path | None = None) -> None:
        """`read_body` returns a skill's instructions, None leaves them out; `folder` keeps large indexes."""
        self.signals: tuple[str, ...] = ("lexical", "body") if read_body else ("lexical",)
        self._read = read_body
        self._folder = folder if read_body else None
        usual = usual_terms()
        self._words = WordIndex("words", WORDS, usual.descriptions)
        self._bodies = WordIndex("bodies", BODY, usual.bodies)
        self._skills: dict[int, SkillMetadata] = {}
        self._quoted: dict[int, _Quoted] = {}

    def fill(self, skills: Sequence[SkillMetadata]) -> list[int]:
        """Begin with these skills, and return the number of each."""
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
        """What `add` takes: the slow part, which needs nothing of this object that changes."""
        return [
            SkillWords(skill, _described(skill), count_terms(self._text(skill)) if self._read else {})
            for skill in skills
        ]

    def add(self, key: int, words: SkillWords) -> None:
        self._words.add(key, words.described)
        if self._read:
            self._bodies.add(key, words.body, BODY.relative_length(sum(words.body.values())))
        self._skills[key] = words.skill

    def remove(self, key: int) -> None:
        del self._skills[key]
        self._quoted.pop(key, None)
        self._words.remove(key)
        if self._read:
            self._bodies.remove(key)

    def scores(self, request: Request) -> dict[int, float]:
        """The skills that share most with the request; only the order of magnitude is fixed."""
        weighed = self._words.weigh(request.words)
        in_bodies = self._bodies.weigh(request.words) if self._read else []
        factor = self._words.factor(weighed)
        parts = [(self._words, weighed, factor)]
        if self._read:
            parts.append((self._bodies, in_bodies, BODY_SHARE * self._bodies.factor(in_bodies)))
        total = _summed(parts)
        self._add_quoted(dict(weighed), total)
        self._prefer_answered(weighed, total)
        return {key: value for key, value in total.items() if value > 0}

    def reasons(self, request: Request, key: int) -> tuple[str, ...]:
        found = []
        for text, index in (("shares the words", self._words), ("its instructions mention", self._bodies)):
            shared = [term for term in request.words if index.worth(term, key)]
            shared.sort(key=index.weight, reverse=True)
            words = dict.fromkeys(one_line(request.words[term][:LONGEST_SHOWN]) for term in shared)
            if words:
                found.append(f"{text} {', '.join(list(words)[:MOST_WORDS])}")
        return tuple(found)

    def _add_quoted(self, asked: Mapping[str, float], total: dict[int, float]) -> None:
        """Add what it is worth that the request says the name, or a phrase that the author quotes."""
        asked_terms = asked.keys()
        scale = self._words.weights.evidence + sum(asked.values())
        scale = PHRASE * scale**-self._words.weights.coverage
        for key in total:
            name, phrases = self._quoted_of(key)
            best = 0.0
            for phrase in phrases:
                if not asked_terms.isdisjoint(phrase):
                    shared = sum([asked[term] for term in phrase if term in asked])
                    # What it shares, times how much of it is shared.
                    best = max(best, shared * shared / self._weight(phrase))
            total[key] += scale * best
            if not asked_terms.isdisjoint(name):
                shared = sum([asked[term] for term in name if term in asked])
                total[key] += NAME_COVERED * shared / max(self._weight(name), 1.0)

    def _prefer_answered(self, weighed: Weighed, total: dict[int, float]) -> None:
        """Raise the skills that answer more of the request than half, and lower the others."""
        asked = ONE_MORE_WORD + sum(weight for _, weight in weighed)
        answered = dict.fromkeys(heapq.nlargest(CLOSEST, total, key=total.__getitem__), 0.0)
        best = answered.keys()
        for term, weight in weighed:
            for key in self._words.having(term, best) | self._bodies.having(term, best):
                answered[key] += weight
        for key, weight in answered.items():
            total[key] *= 1 + ANSWERED * (weight / asked - 0.5)

    def _quoted_of(self, key: int) -> _Quoted:
        known = self._quoted.get(key)
        if known is None:
            skill = self._skills[key]
            triggers = (*skill.triggers.keywords, *skill.triggers.verbs)
            phrases = (*quoted_phrases(skill.description), *triggers)
            term_sets = [tuple(dict.fromkeys(terms(phrase))) for phrase in phrases]
            name = tuple(dict.fromkeys(_name_terms(skill)))
            known = self._quoted[key] = _Quoted(name, tuple(each for each in term_sets if each))
        return known

    def _weight(self, phrase: tuple[str, ...]) -> float:
        return sum(map(self._words.weight, phrase))

    def _text(self, skill: SkillMetadata) -> str:
        """The instructions; those that cannot be read count as empty."""
        assert self._read is not None
        try:
            return self._read(skill)[:LONGEST_BODY]
        except (SkillsUseError, OSError, UnicodeDecodeError):
            return ""


def _summed(parts: Sequence[tuple[WordIndex, Weighed, float]]) -> dict[int, float]:
    """The scores of the best CANDIDATES; common words find a skill only where others find too few."""
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
