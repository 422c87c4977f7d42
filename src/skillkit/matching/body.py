"""Scores by the words of the instructions: a weak signal that descriptions leave out."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from skillkit.core.exceptions import SkillsUseError
from skillkit.core.models import SkillMetadata
from skillkit.core.skill import read_document
from skillkit.matching.calibration import BODY
from skillkit.matching.commonness import commonness
from skillkit.matching.request import Request
from skillkit.matching.taking_turns import taking_turns
from skillkit.matching.terms import terms
from skillkit.matching.weights import WordWeights

LONGEST_BODY = 65_536
MOST_WORDS = 4
ENOUGH_TERMS = 150
"""Terms from which a body can say what a skill is about."""
BodyReader = Callable[[SkillMetadata], str]


def read_body(skill: SkillMetadata) -> str:
    """The instructions as they are on disk."""
    return read_document(skill).body


@dataclass(slots=True)
class BodyScorer:
    """An inverted index over the bodies, each read once, when the first request needs it."""

    read: BodyReader
    weights: WordWeights = BODY
    lacking: dict[int, float] = field(default_factory=dict)
    """Skills with few or no instructions, and how much of a usual body they lack, 0 to 1."""
    _waiting: dict[int, SkillMetadata] = field(default_factory=dict)
    _terms: dict[int, tuple[str, ...]] = field(default_factory=dict)
    _postings: dict[str, dict[int, float]] = field(default_factory=dict)

    def add(self, key: int, skill: SkillMetadata) -> None:
        self._waiting[key] = skill

    def remove(self, key: int) -> None:
        if self._waiting.pop(key, None) is None:
            for term in self._terms.pop(key):
                del self._postings[term][key]
            self.lacking.pop(key, None)

    def prepare(self) -> None:
        """Read the bodies that were added since; one that cannot be read counts as empty."""
        for key, skill in taking_turns(list(self._waiting.items())):
            try:
                text = self.read(skill)[:LONGEST_BODY]
            except (SkillsUseError, OSError):
                text = ""
            self._index(key, text)
            del self._waiting[key]

    def scores(self, request: Request, among: Iterable[int] | None = None) -> dict[int, float]:
        """Of every skill, or of those `among` which it is asked to choose: that costs far less."""
        self.prepare()
        weighed = self._weighed(request)
        if not weighed:
            return {}
        asked = self.weights.evidence + sum(weight for weight, _ in weighed)
        scale = asked**-self.weights.coverage
        total: defaultdict[int, float] = defaultdict(float)
        chosen = None if among is None else set(among)
        for weight, posting in weighed:
            factor = weight * scale
            keys = posting.keys() if chosen is None else chosen & posting.keys()
            for key in keys:
                total[key] += factor * posting[key]
        return total

    def _weighed(self, request: Request) -> list[tuple[float, dict[int, float]]]:
        """The request's terms: how much each says, and where it occurs."""
        settings = self.weights
        library = len(self._terms) + settings.prior
        rarest = math.log(1 + library / 0.5)
        weighed: list[tuple[float, dict[int, float]]] = []
        for term in request.words:
            posting = self._postings.get(term, {})
            rarity = math.log(1 + library / (len(posting) + 0.5)) / rarest
            weighed.append((rarity * (1 - settings.commonness * commonness(term)), posting))
        if len(weighed) > settings.most_terms:
            weighed.sort(key=lambda pair: -pair[0])
            del weighed[settings.most_terms :]
        return weighed

    def reasons(self, request: Request, key: int) -> tuple[str, ...]:
        self.prepare()
        found = [
            (len(posting), word)
            for term, word in request.words.items()
            if key in (posting := self._postings.get(term, {}))
        ]
        found.sort()
        words = tuple(dict.fromkeys(word for _, word in found))[:MOST_WORDS]
        return (f"its instructions mention {', '.join(words)}",) if words else ()

    def _index(self, key: int, text: str) -> None:
        settings = self.weights
        counts = Counter(terms(text))
        length = 1 - settings.length + settings.length * counts.total() / settings.usual_length
        for term, count in counts.items():
            frequency = count / length
            value = frequency * (settings.saturation + 1) / (frequency + settings.saturation)
            self._postings.setdefault(term, {})[key] = value
        self._terms[key] = tuple(counts)
        if counts.total() < ENOUGH_TERMS:
            self.lacking[key] = 1 - counts.total() / ENOUGH_TERMS
