"""Scores by shared words: of name, description and triggers, and of the instructions."""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain

from skillkit.core.exceptions import SkillsUseError
from skillkit.core.models import SkillMetadata
from skillkit.core.skill import read_document
from skillkit.matching.calibration import CALIBRATIONS, LEXICAL, Calibration, LexicalWeights
from skillkit.matching.description import Description, exclusions_of_body
from skillkit.matching.request import Request
from skillkit.matching.terms import count_terms, terms
from skillkit.matching.word_index import WordIndex

LONGEST_BODY = 65_536
ENOUGH_TERMS = 150
"""Terms from which instructions can say what a skill is about."""
CANDIDATES = 200
"""Skills that are looked at closely, of those that share the most."""
CLOSEST = 50
"""Skills for which it is counted how much of the request they answer."""
ONE_MORE_WORD = 1.0
"""Weight of a word imagined unanswered, so that a request of one word is not answered by it alone."""
MOST_WORDS = 6
BodyReader = Callable[[SkillMetadata], str]


def read_body(skill: SkillMetadata) -> str:
    """The instructions as they are on disk."""
    return read_document(skill).body


@dataclass(slots=True)
class _Document:
    """What is known of one skill beside the words in the indexes."""

    name: tuple[str, ...]
    phrases: tuple[tuple[str, ...], ...]
    exclusions: list[tuple[str, ...]]
    lacking: float = 0.0
    """How much of usual instructions it lacks, 0 to 1."""
    judged: frozenset[str] = frozenset()
    """The terms of name, phrases and exclusions: where none is asked for, they say nothing."""

    def __post_init__(self) -> None:
        self.gather()

    def gather(self) -> None:
        self.judged = frozenset((*self.name, *chain(*self.phrases), *chain(*self.exclusions)))


class LexicalScorer:
    """Two word indexes, of descriptions and of instructions, and what their authors quote and exclude."""

    def __init__(self, read_body: BodyReader | None = None, weights: LexicalWeights = LEXICAL) -> None:
        """`read_body` gives a skill's instructions; None leaves them out."""
        self.weights = weights
        self.signals: tuple[str, ...] = ("lexical", "body") if read_body else ("lexical",)
        self._read = read_body
        self._words = WordIndex(weights.words)
        self._bodies = WordIndex(weights.body)
        self._documents: dict[int, _Document] = {}
        self._unread: dict[int, SkillMetadata] = {}

    @property
    def calibration(self) -> Calibration:
        return CALIBRATIONS[self.signals]

    def add(self, key: int, skill: SkillMetadata) -> None:
        description = Description.parse(skill.description)
        triggers = (*skill.triggers.keywords, *skill.triggers.verbs)
        name = terms(skill.name.replace("_", " "))
        purpose = terms(description.purpose)
        for trigger in triggers:
            purpose.extend(terms(trigger))
        length = self.weights.words.relative_length(len(purpose))
        counts = {term: count / length for term, count in Counter(purpose).items()}
        for term in name:
            counts[term] = counts.get(term, 0.0) + self.weights.name
        self._words.add(key, counts)
        self._documents[key] = _Document(
            tuple(dict.fromkeys(name)),
            _term_sets((*description.phrases, *triggers)),
            list(_term_sets(description.exclusions)),
        )
        if self._read:
            self._unread[key] = skill

    def remove(self, key: int) -> None:
        self._words.remove(key)
        del self._documents[key]
        if self._read and self._unread.pop(key, None) is None:
            self._bodies.remove(key)

    def prepare(self) -> None:
        """Read the instructions that were added since; those that cannot be read count as empty."""
        while self._unread:
            key, skill = next(iter(self._unread.items()))
            self._add_body(key, self._text_of(skill))
            del self._unread[key]

    def scores(self, request: Request) -> dict[int, float]:
        """The skills that share most with the request; only the order of magnitude is fixed."""
        self.prepare()
        weighed = self._words.telling(request)
        in_bodies = self._bodies.telling(request) if self._read else []
        share = self.weights.body_share * self._bodies.scale(in_bodies)
        scale = self._words.scale(weighed)
        total: dict[int, float] = {}
        self._words.add_scores(weighed, total, scale)
        if len(total) < CANDIDATES:
            for key in self._words.having_common(weighed, CANDIDATES - len(total)):
                total.setdefault(key, 0.0)
        self._bodies.add_scores(in_bodies, total, share)
        if len(total) > CANDIDATES:
            best = sorted(total, key=total.__getitem__, reverse=True)[:CANDIDATES]
            total = {key: total[key] for key in best}
        self._words.add_common(weighed, total, scale)
        self._bodies.add_common(in_bodies, total, share)
        asked = dict(weighed)
        for key in total:
            document = self._documents[key]
            if not document.judged.isdisjoint(asked):
                total[key] += self._judgement(document, asked, scale)
            if document.lacking:
                total[key] *= 1 + self.weights.body_expected * document.lacking
        self._prefer_answered(weighed, total)
        return {key: value for key, value in total.items() if value > 0}

    def reasons(self, request: Request, key: int) -> tuple[str, ...]:
        found = []
        for text, index in (("shares the words", self._words), ("its instructions mention", self._bodies)):
            shared = index.shared(request, key)
            words = tuple(dict.fromkeys(request.words[term] for term in shared))[:MOST_WORDS]
            if words:
                found.append(f"{text} {', '.join(words)}")
        return tuple(found)

    def _prefer_answered(self, weighed: list[tuple[str, float]], total: dict[int, float]) -> None:
        """Raise the skills that answer more of the request than half, and lower the others; only the best,
        since it moves none by more than a share of its score."""
        asked = ONE_MORE_WORD + sum(weight for _, weight in weighed)
        best = frozenset(heapq.nlargest(CLOSEST, total, key=total.__getitem__))
        answered = dict.fromkeys(best, 0.0)
        for term, weight in weighed:
            for key in self._words.having(term, best) | self._bodies.having(term, best):
                answered[key] += weight
        for key, total_weight in answered.items():
            total[key] *= 1 + self.weights.answered * (total_weight / asked - 0.5)

    def _judgement(self, document: _Document, asked: dict[str, float], scale: float) -> float:
        """What name, quoted phrases and exclusions add to a skill's score."""
        settings = self.weights
        value = 0.0
        said = sum(asked[term] for term in document.name if term in asked)
        if said:
            whole = self._words.weight_of_all(document.name)
            value += settings.name_covered * said / max(whole, 1.0)  # an ordinary word is less than a name
        value += settings.phrase * scale * self._best_shared(document.phrases, asked)
        if document.exclusions:
            value -= settings.excluded * scale * self._best_shared(document.exclusions, asked)
        return value

    def _best_shared(self, sentences: Iterable[tuple[str, ...]], asked: dict[str, float]) -> float:
        """Of the best one: what it shares with the request, times how much of it is shared."""
        best = 0.0
        for sentence in sentences:
            if not asked.keys().isdisjoint(sentence):
                shared = sum([asked[term] for term in sentence if term in asked])
                if shared:
                    best = max(best, shared * shared / self._words.weight_of_all(sentence))
        return best

    def _text_of(self, skill: SkillMetadata) -> str:
        assert self._read is not None
        try:
            return self._read(skill)[:LONGEST_BODY]
        except (SkillsUseError, OSError):
            return ""

    def _add_body(self, key: int, text: str) -> None:
        counts = count_terms(text)
        whole = sum(counts.values())
        length = self.weights.body.relative_length(whole)
        self._bodies.add(key, counts, length)
        document = self._documents[key]
        if excluded := _term_sets(exclusions_of_body(text)):
            document.exclusions.extend(excluded)
            document.gather()
        document.lacking = max(0.0, 1 - whole / ENOUGH_TERMS)


def _term_sets(texts: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    found = (tuple(dict.fromkeys(terms(text))) for text in texts)
    return tuple(each for each in found if each)
