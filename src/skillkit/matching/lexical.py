"""Scores by shared words: BM25 over name, purpose and triggers, with the name and quoted phrases."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from skillkit.core.models import SkillMetadata
from skillkit.matching.calibration import LEXICAL
from skillkit.matching.commonness import commonness
from skillkit.matching.description import Description
from skillkit.matching.request import Request
from skillkit.matching.terms import terms
from skillkit.matching.weights import LexicalWeights

LONGEST_DESCRIPTION = 8_192
MOST_WORDS = 6

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class _Document:
    """What one skill adds to the index."""

    name: tuple[str, ...]
    frequencies: dict[str, float]
    """How often a term occurs in name, purpose and triggers, the name counting more."""
    elsewhere: tuple[str, ...]
    phrases: tuple[frozenset[str], ...]


@dataclass(slots=True)
class _Snapshot:
    """The index as it is searched: rebuilt when the library has changed. It is made of tuples, which the
    garbage collector does not walk through: a run of it stops every thread of the program."""

    weight: dict[str, float]
    unseen: float
    postings: dict[str, tuple[tuple[int, ...], tuple[float, ...]]]
    names: dict[str, tuple[tuple[int, float], ...]]
    phrases: dict[str, tuple[int, ...]]
    phrase_owner: tuple[int, ...]
    phrase_weight: tuple[float, ...]
    elsewhere: dict[str, tuple[int, ...]]


@dataclass(slots=True)
class LexicalScorer:
    """An inverted index in memory; the answer depends on the library only by how rare its words are."""

    weights: LexicalWeights = LEXICAL
    _documents: dict[int, _Document] = field(default_factory=dict)
    _snapshot: _Snapshot | None = None

    def add(self, key: int, skill: SkillMetadata) -> None:
        self._documents[key] = _document(skill, self.weights)
        self._snapshot = None

    def remove(self, key: int) -> None:
        del self._documents[key]
        self._snapshot = None

    def prepare(self) -> None:
        """Bring the index up to date now instead of at the next request."""
        self._current()

    def scores(self, request: Request) -> dict[int, float]:
        """Every skill that shares a word with the request; only the order of magnitude is fixed."""
        index = self._current()
        weighed = self._weighed(request, index)
        if not weighed:
            return {}
        settings = self.weights
        total: defaultdict[int, float] = defaultdict(float)
        for term, _ in weighed:
            if posting := index.postings.get(term):
                for key, value in zip(*posting, strict=True):
                    total[key] += value
        self._add_phrases(weighed, index, total)
        for term, weight in weighed:
            for key in index.elsewhere.get(term, ()):
                total[key] -= settings.elsewhere * weight
        asked = settings.words.evidence + sum(weight for _, weight in weighed)
        scale = asked**-settings.words.coverage
        found = {key: value * scale for key, value in total.items() if value > 0}
        for term, _ in weighed:
            for key, share in index.names.get(term, ()):
                if key in found:
                    found[key] += settings.name_covered * share
        return found

    def reasons(self, request: Request, key: int) -> tuple[str, ...]:
        words = self.shared(request, key)[:MOST_WORDS]
        return (f"shares the words {', '.join(words)}",) if words else ()

    def shared(self, request: Request, key: int) -> tuple[str, ...]:
        """The request's own words that this skill has too, the most telling first."""
        index = self._current()
        document = self._documents[key]
        telling = [
            (weight, term) for term, weight in self._weighed(request, index) if term in document.frequencies
        ]
        telling.sort(reverse=True)
        return tuple(dict.fromkeys(request.words[term] for _, term in telling))

    def _weighed(self, request: Request, index: _Snapshot) -> list[tuple[str, float]]:
        """The request's terms with their weights; of a long request the most telling ones."""
        weighed = [
            (term, index.weight[term] if term in index.weight else self._unseen(term, index))
            for term in request.words
        ]
        if len(weighed) > self.weights.words.most_terms:
            weighed.sort(key=lambda pair: -pair[1])
            del weighed[self.weights.words.most_terms :]
        return weighed

    def _unseen(self, term: str, index: _Snapshot) -> float:
        return index.unseen * (1 - self.weights.words.commonness * commonness(term))

    def _add_phrases(
        self, weighed: Iterable[tuple[str, float]], index: _Snapshot, total: dict[int, float]
    ) -> None:
        """The best quoted phrase of each skill: what it shares, times how much of it is shared."""
        matched: defaultdict[int, float] = defaultdict(float)
        for term, weight in weighed:
            for phrase in index.phrases.get(term, ()):
                matched[phrase] += weight
        best: dict[int, float] = {}
        for phrase, weight in matched.items():
            owner = index.phrase_owner[phrase]
            value = weight * weight / index.phrase_weight[phrase]
            if value > best.get(owner, 0.0):
                best[owner] = value
        for owner, value in best.items():
            total[owner] += self.weights.phrase * value

    def _current(self) -> _Snapshot:
        if self._snapshot is None:
            self._snapshot = self._built()
        return self._snapshot

    def _built(self) -> _Snapshot:
        settings = self.weights
        library = len(self._documents) + settings.words.prior
        rarest = math.log(1 + library / 0.5)

        def rarity(count: int, term: str) -> float:
            share = math.log(1 + library / (count + 0.5)) / rarest
            return share * (1 - settings.words.commonness * commonness(term))

        occurs = Counter(term for document in self._documents.values() for term in document.frequencies)
        named = Counter(term for document in self._documents.values() for term in document.name)
        weight = {term: rarity(count, term) for term, count in occurs.items()}
        postings: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
        names: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
        phrases: defaultdict[str, list[int]] = defaultdict(list)
        elsewhere: defaultdict[str, list[int]] = defaultdict(list)
        owners: list[int] = []
        weights: list[float] = []
        saturation = settings.words.saturation
        for key, document in self._documents.items():
            for term, frequency in document.frequencies.items():
                value = weight[term] * frequency * (saturation + 1) / (frequency + saturation)
                postings[term].append((key, value))
            distinct = {term: rarity(named[term], term) for term in document.name}
            whole = sum(distinct.values())
            for term, value in distinct.items():
                names[term].append((key, value / whole))
            for phrase in document.phrases:
                for term in phrase:
                    phrases[term].append(len(owners))
                owners.append(key)
                weights.append(sum(weight.get(term) or rarity(0, term) for term in phrase))
            for term in document.elsewhere:
                elsewhere[term].append(key)
        return _Snapshot(
            weight,
            unseen=1.0,
            postings={
                term: (tuple(key for key, _ in found), tuple(value for _, value in found))
                for term, found in postings.items()
            },
            names=_frozen(names),
            phrases=_frozen(phrases),
            phrase_owner=tuple(owners),
            phrase_weight=tuple(weights),
            elsewhere=_frozen(elsewhere),
        )


def _frozen(lists: Mapping[str, list[Item]]) -> dict[str, tuple[Item, ...]]:
    return {term: tuple(items) for term, items in lists.items()}


def _document(skill: SkillMetadata, settings: LexicalWeights) -> _Document:
    description = Description.parse(skill.description[:LONGEST_DESCRIPTION])
    triggers = (*skill.triggers.keywords, *skill.triggers.verbs)
    name = terms(skill.name.replace("_", " "))
    purpose = terms(description.purpose)
    for trigger in triggers:
        purpose.extend(terms(trigger))
    words = settings.words
    length = 1 - words.length + words.length * len(purpose) / words.usual_length
    frequencies = {term: count / length for term, count in Counter(purpose).items()}
    for term in name:
        frequencies[term] = frequencies.get(term, 0.0) + settings.name
    phrases = (frozenset(terms(phrase)) for phrase in (*description.phrases, *triggers))
    elsewhere = dict.fromkeys(term for term in terms(description.elsewhere) if term not in frequencies)
    return _Document(
        tuple(dict.fromkeys(name)),
        frequencies,
        tuple(elsewhere),
        tuple(phrase for phrase in phrases if phrase),
    )
