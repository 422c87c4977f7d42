"""A BM25 index over many texts: the terms of each text, and their weights."""

import math
from array import array
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Set

from skillkit.matching.calibration import WordWeights
from skillkit.matching.store import IndexFile, Postings

_BITS = 16
_STEPS = (1 << _BITS) - 1
MOST_ITEMS = 1_000_000
"""Number of postings read from a file that are cached for later requests."""
_NOWHERE: "array[int]" = array("Q")
Weighed = list[tuple[str, float]]
"""Terms of a request with their weights."""


class WordIndex:
    """An inverted index: one array per term, whose items encode a text's number and the term's score there.

    Numbers of texts are never reused. Postings in a file are not held in memory.
    """

    def __init__(self, kind: str, weights: WordWeights, usual: Mapping[str, float]) -> None:
        """`usual` maps terms to the share of texts of this `kind` that contain them in general."""
        self.kind = kind
        self.weights = weights
        self._usual = usual
        self._postings: dict[str, array[int]] = _new_postings()
        self._file: IndexFile | None = None
        self._texts = 0
        self._removed: set[int] = set()
        self._asked: dict[str, array[int]] = {}
        self._items = 0
        self._weights: dict[str, float] = {}

    def add(self, key: int, counts: Mapping[str, float], length: float = 1.0) -> None:
        """Add a text by its term counts; `length` is relative to the average."""
        saturation, postings, place = self.weights.saturation * length, self._postings, key << _BITS
        packed = {
            count: place | (int(_STEPS * count / (count + saturation)) or 1) for count in set(counts.values())
        }
        # Avoid a Python loop: a large library has millions of these.
        items = map(packed.__getitem__, counts.values())
        deque(map(array.append, map(postings.__getitem__, counts), items), maxlen=0)
        self._texts += 1
        self._changed()

    @property
    def postings(self) -> Postings:
        """The postings in memory."""
        return self._postings

    def rest_on(self, file: IndexFile, texts: int) -> None:
        """Replace the postings in memory by those of `file`, which contains this many texts."""
        self._file, self._texts, self._postings = file, texts, _new_postings()
        self._changed()

    def remove(self, key: int) -> None:
        self._removed.add(key)
        self._texts -= 1
        self._changed()

    def scores(self, term: str) -> Iterator[tuple[int, int]]:
        """Return the texts that contain a term, and its score in each."""
        return ((each >> _BITS, each & _STEPS) for each in self._found(term))

    def worth(self, term: str, key: int) -> int:
        """Return the score of a term in one text; 0 if absent."""
        found = self._found(term)
        at = bisect_left(found, key << _BITS)
        return found[at] & _STEPS if at < len(found) and found[at] >> _BITS == key else 0

    def having(self, term: str, keys: Set[int]) -> Set[int]:
        """Return the texts among `keys` that contain a term."""
        found = self._found(term)
        if len(found) > 8 * len(keys):
            return {key for key in keys if self.worth(term, key)}
        return keys & {each >> _BITS for each in found}

    def occurs(self, term: str) -> int:
        """Return the number of texts that contain a term."""
        return len(self._found(term))

    def weight(self, term: str) -> float:
        """Return the weight of a term, 0 to 1, by its rarity in this library and in general."""
        known = self._weights.get(term)
        if known is None:
            prior = self.weights.prior
            library = self._texts + prior
            occurs = self.occurs(term) + prior * self._usual.get(term, 0.0)
            known = math.log(1 + library / (occurs + 0.5)) / math.log(1 + library / 0.5)
            self._weights[term] = known
        return known

    def weigh(self, terms: Iterable[str]) -> Weighed:
        """Return the terms of a request with their weights, limited to the highest."""
        weighed = [(term, self.weight(term)) for term in terms]
        if len(weighed) > self.weights.most_terms:
            weighed.sort(key=lambda pair: -pair[1])
            del weighed[self.weights.most_terms :]
        return weighed

    def factor(self, weighed: Weighed) -> float:
        """Return the factor by which unmatched request words lower every score."""
        asked = self.weights.evidence + sum(weight for _, weight in weighed)
        return float(asked**-self.weights.coverage) * (self.weights.saturation + 1) / _STEPS

    def _found(self, term: str) -> "array[int]":
        """Return the texts that contain a term, by number."""
        if not (self._file or self._removed):
            return self._postings.get(term, _NOWHERE)
        known = self._asked.get(term)
        if known is None:
            known = array("Q", self._file.postings(self.kind, term) if self._file else b"")
            known.extend(self._postings.get(term, ()))
            if self._removed:
                known = array("Q", [each for each in known if each >> _BITS not in self._removed])
            self._items += len(known)
            if self._items > MOST_ITEMS:
                self._asked.clear()
                self._items = len(known)
            self._asked[term] = known
        return known

    def _changed(self) -> None:
        self._asked.clear()
        self._weights.clear()
        self._items = 0


def _new_postings() -> "defaultdict[str, array[int]]":
    return defaultdict(lambda: array("Q"))
