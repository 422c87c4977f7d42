"""Names, quoted phrases and exclusions of many skills, found by the words that a request has."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum


class Kind(Enum):
    """What a sentence is in its skill."""

    NAME = "name"
    PHRASE = "phrase"
    EXCLUSION = "exclusion"


@dataclass(frozen=True, slots=True, eq=False)
class Sentence:
    """The different terms of a name or of a sentence."""

    key: int
    """The number of its skill."""
    kind: Kind
    terms: tuple[str, ...]


@dataclass(slots=True)
class SentenceIndex:
    """Sentences by their terms, so that a request costs as much as those that share a word with it."""

    _by_term: dict[str, list[Sentence]] = field(default_factory=dict)
    _by_key: dict[int, list[Sentence]] = field(default_factory=dict)

    def add(self, key: int, kind: Kind, sentences: Iterable[tuple[str, ...]]) -> None:
        for terms in sentences:
            sentence = Sentence(key, kind, terms)
            self._by_key.setdefault(key, []).append(sentence)
            for term in terms:
                self._by_term.setdefault(term, []).append(sentence)

    def take_from(self, other: "SentenceIndex", other_key: int, key: int) -> None:
        """Take in the sentences of a skill that another index has."""
        for sentence in other._by_key.get(other_key, ()):
            self.add(key, sentence.kind, [sentence.terms])

    def remove(self, key: int) -> None:
        for sentence in self._by_key.pop(key, ()):
            for term in sentence.terms:
                left = self._by_term[term]
                left.remove(sentence)
                if not left:
                    del self._by_term[term]

    def shared(self, asked: Mapping[str, float], keys: Container[int]) -> dict[Sentence, float]:
        """The sentences of these skills that have words of a request, and what those words say."""
        found: dict[Sentence, float] = {}
        several: list[Sentence] = []
        for term in asked.keys() & self._by_term.keys():
            weight = asked[term]
            for sentence in self._by_term[term]:
                if sentence in found:
                    several.append(sentence)
                elif sentence.key in keys:
                    found[sentence] = weight
        for sentence in several:  # in the order of the sentence, so that no sum depends on the request's
            found[sentence] = sum([asked[term] for term in sentence.terms if term in asked])
        return found
