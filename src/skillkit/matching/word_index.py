"""BM25 over many texts: which words stand in which text, and how much each of them says."""

import math
from array import array
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field

from skillkit.matching.calibration import WordWeights
from skillkit.matching.request import Request
from skillkit.matching.terms import commonness

COMMON = 512
"""Texts from which a word's row has a place for every text: looked up, not walked through."""
MOST_HELD = 4096
"""Terms whose texts are held as sets too: a request finds in them which of the best have a term."""
_BITS = 16
_STEPS = (1 << _BITS) - 1


@dataclass(slots=True)
class WordIndex:
    """An inverted index in arrays of two and four bytes, so that 10,000 long texts take tens of megabytes.

    Texts are known by small numbers, which may be used again after a text was removed.
    """

    weights: WordWeights
    usual: Mapping[str, float] = field(default_factory=dict)
    """Term → the share of texts of this kind that have it anywhere."""
    _new: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Term → the texts that came since it was last asked for: number of the text and worth in one number,
    the same object for all terms of a text that occur as often."""
    _few: dict[str, tuple["array[int]", "array[int]"]] = field(default_factory=dict)
    """Term → the texts that have it, and what it is worth in each."""
    _many: dict[str, "array[int]"] = field(default_factory=dict)
    """The same for common terms, by number of the text; 0 where it is missing."""
    _occurs: dict[str, int] = field(default_factory=dict)
    """How many texts have each of the common terms."""
    _terms: dict[int, tuple[str, ...]] = field(default_factory=dict)
    _worths: dict[int, "array[int]"] = field(default_factory=dict)
    """What each of the terms of a text is worth in it."""
    _weighed: dict[str, float] = field(default_factory=dict)
    """What was computed since the library last changed."""
    _rarest: float = 0.0
    """What a term that is nowhere says, of which the others are a share; 0 until it is asked for."""
    _texts: dict[str, frozenset[int]] = field(default_factory=dict)
    """The texts of terms that are not common and were asked for since then."""

    def __len__(self) -> int:
        return len(self._terms)

    def add(self, key: int, counts: Mapping[str, float], length: float = 1.0) -> None:
        """Take in a text by how often each term occurs in it; `length` is that of the text to the usual."""
        place = key << _BITS
        worth = {count: self._worth(count / length) for count in set(counts.values())}
        placed = {count: place | value for count, value in worth.items()}
        worths = array("H", map(worth.__getitem__, counts.values()))
        self._take(key, tuple(counts), worths, map(placed.__getitem__, counts.values()))

    def take_from(self, other: "WordIndex", other_key: int, key: int) -> None:
        """Take in a text of another index with the same weights, which need not be counted again."""
        place, worths = key << _BITS, other._worths[other_key]
        self._take(key, other._terms[other_key], worths, [place | worth for worth in worths])

    def _take(self, key: int, terms: tuple[str, ...], worths: "array[int]", placed: Iterable[int]) -> None:
        # No loop of ours: a library has hundreds of thousands of these.
        deque(map(list.append, map(self._new.__getitem__, terms), placed), maxlen=0)
        self._terms[key], self._worths[key] = terms, worths
        self._forget()

    def settle(self) -> None:
        """Put every term where requests look for it now, so that no request waits for it."""
        for term in list(self._new):
            self._settle(term)

    def remove(self, key: int) -> None:
        del self._worths[key]
        for term in self._terms.pop(key):
            if term in self._new:
                self._settle(term)
            if term in self._many:
                self._many[term][key] = 0
                self._occurs[term] -= 1
                continue
            keys, values = self._few[term]
            place = keys.index(key)
            del keys[place], values[place]
            if not keys:
                del self._few[term]
        self._forget()

    def shared(self, request: Request, key: int) -> Set[str]:
        """The request's terms that a text has."""
        return request.words.keys() & self._terms.get(key, ())

    def most_telling(self, terms: Iterable[str], request: Request) -> list[str]:
        """Terms of a request, those first that say most."""
        weight, counts = self.weight, request.emphasis.get
        weighed = [(weight(term) * counts(term, 1.0), term) for term in terms]
        weighed.sort(reverse=True)
        return [term for _, term in weighed]

    def weight(self, term: str) -> float:
        """How much a term says: by how rare it is here and in such texts, and how ordinary in English."""
        known = self._weighed.get(term)
        if known is None:
            settings = self.weights
            library = len(self._terms) + settings.prior
            if term in self._new:
                self._settle(term)
            found = self._few.get(term)
            occurs = len(found[0]) if found else self._occurs.get(term, 0)
            imagined = settings.prior * self.usual.get(term, 0.0)
            rarest = self._rarest = self._rarest or math.log(1 + library / 0.5)
            rarity = math.log(1 + library / (occurs + imagined + 0.5)) / rarest
            known = rarity * (1 - settings.commonness * commonness(term))
            self._weighed[term] = known
        return known

    def telling(self, request: Request) -> list[tuple[str, float]]:
        """A request's terms with their weights; of many, the ones that say most."""
        weighed = [(term, self.weight(term)) for term in request.words]
        if request.emphasis:
            counts = request.emphasis.get
            weighed = [(term, weight * counts(term, 1.0)) for term, weight in weighed]
        if len(weighed) > self.weights.most_terms:
            weighed.sort(key=lambda pair: -pair[1])
            del weighed[self.weights.most_terms :]
        return weighed

    def scale(self, weighed: Iterable[tuple[str, float]]) -> float:
        """What scores are multiplied with, so that words of a request that nothing answers lower them."""
        asked = self.weights.evidence + sum(weight for _, weight in weighed)
        return float(asked**-self.weights.coverage)

    def add_scores(self, weighed: Iterable[tuple[str, float]], total: list[float], factor: float) -> None:
        """Add to `total`, with a place for every text, what it scores by the terms that are not common."""
        unit = factor * self._unit
        for term, weight in weighed:
            if found := self._few.get(term):
                worth = weight * unit
                for key, value in zip(*found, strict=True):
                    total[key] += worth * value

    def add_common(
        self, weighed: Iterable[tuple[str, float]], total: dict[int, float], factor: float
    ) -> None:
        """Add what the common terms score to the texts that are in `total`."""
        unit = factor * self._unit
        for term, weight in weighed:
            if row := self._many.get(term):
                worth, length = weight * unit, len(row)
                for key in total:
                    if key < length and (value := row[key]):
                        total[key] += worth * value

    def having(self, term: str, keys: frozenset[int]) -> frozenset[int]:
        """Those of the texts `keys` that have a term."""
        if row := self._many.get(term):
            length = len(row)
            return frozenset([key for key in keys if key < length and row[key]])
        if term not in self._few:
            return _NONE
        texts = self._texts.get(term)
        if texts is None:
            texts = frozenset(self._few[term][0])
            if len(self._texts) >= MOST_HELD:
                self._texts.clear()
            self._texts[term] = texts
        return keys & texts

    def having_common(self, weighed: Iterable[tuple[str, float]], enough: int) -> set[int]:
        """Texts that have the most telling of the common terms, until there are `enough`."""
        found: set[int] = set()
        for term, _ in sorted(weighed, key=lambda pair: -pair[1]):
            if len(found) >= enough:
                break
            found.update(key for key, value in enumerate(self._many.get(term, ())) if value)
        return found

    def _forget(self) -> None:
        self._weighed.clear()
        self._texts.clear()
        self._rarest = 0.0

    @property
    def _unit(self) -> float:
        return (self.weights.saturation + 1) / _STEPS

    def _worth(self, count: float) -> int:
        return int(_STEPS * count / (count + self.weights.saturation)) or 1

    def _settle(self, term: str) -> None:
        """Put the texts that came since a term was last asked for where requests look for them."""
        new = self._new.pop(term)
        if term not in self._many:
            keys = array("I", [each >> _BITS for each in new])
            values = array("H", [each & _STEPS for each in new])
            if known := self._few.get(term):
                keys, values = known[0] + keys, known[1] + values
            if len(keys) <= COMMON:
                self._few[term] = keys, values
                return
            self._few.pop(term, None)
            self._many[term], self._occurs[term] = array("H"), 0
            new = [key << _BITS | value for key, value in zip(keys, values, strict=True)]
        row = self._many[term]
        row.frombytes(bytes(2 * max((max(new) >> _BITS) + 1 - len(row), 0)))
        for each in new:
            row[each >> _BITS] = each & _STEPS
        self._occurs[term] += len(new)


_NONE: frozenset[int] = frozenset()
