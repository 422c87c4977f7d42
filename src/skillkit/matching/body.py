"""Scores by the words of the instructions: a weak signal that descriptions leave out."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from skillkit.core.content import SkillFile
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.models import SkillMetadata
from skillkit.matching.calibration import BODY
from skillkit.matching.commonness import commonness
from skillkit.matching.request import Request
from skillkit.matching.terms import terms
from skillkit.matching.weights import WordWeights

LONGEST_BODY = 65_536
MOST_WORDS = 4
BodyReader = Callable[[SkillMetadata], str]


def read_body(skill: SkillMetadata) -> str:
    """The instructions as they are on disk."""
    return SkillFile(skill.skill_path, recovered=skill.recovered).read().body


@dataclass(slots=True)
class BodyScorer:
    """An inverted index over the bodies, each read once, when the first request needs it."""

    read: BodyReader
    weights: WordWeights = BODY
    _waiting: dict[int, SkillMetadata] = field(default_factory=dict)
    _terms: dict[int, tuple[str, ...]] = field(default_factory=dict)
    _postings: dict[str, dict[int, float]] = field(default_factory=dict)

    def add(self, key: int, skill: SkillMetadata) -> None:
        self._waiting[key] = skill

    def remove(self, key: int) -> None:
        if self._waiting.pop(key, None) is None:
            for term in self._terms.pop(key):
                del self._postings[term][key]

    def prepare(self) -> None:
        """Read the bodies that were added since; one that cannot be read counts as empty."""
        for key, skill in list(self._waiting.items()):
            try:
                text = self.read(skill)[:LONGEST_BODY]
            except (SkillsUseError, OSError):
                text = ""
            self._index(key, text)
            del self._waiting[key]

    def scores(self, request: Request) -> dict[int, float]:
        self.prepare()
        settings = self.weights
        library = len(self._terms) + settings.prior
        rarest = math.log(1 + library / 0.5)
        weighed: list[tuple[float, dict[int, float]]] = []
        for term in request.words:
            posting = self._postings.get(term, {})
            rarity = math.log(1 + library / (len(posting) + 0.5)) / rarest
            weighed.append((rarity * (1 - settings.commonness * commonness(term)), posting))
        if not weighed:
            return {}
        if len(weighed) > settings.most_terms:
            weighed.sort(key=lambda pair: -pair[0])
            del weighed[settings.most_terms :]
        scale = sum(weight for weight, _ in weighed) ** -settings.coverage
        total: defaultdict[int, float] = defaultdict(float)
        for weight, posting in weighed:
            factor = weight * scale
            for key, value in posting.items():
                total[key] += factor * value
        return total

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
