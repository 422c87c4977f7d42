"""Scores of words and of meaning added up: scores, never ranks, because a rank says nothing about whether
anything fits at all."""

from dataclasses import dataclass

from skillkit.core.models import SkillMetadata
from skillkit.matching.calibration import CALIBRATIONS, SEMANTIC_SHARE, Calibration
from skillkit.matching.lexical import LexicalScorer
from skillkit.matching.request import Request
from skillkit.matching.semantic import SemanticScorer


@dataclass(frozen=True, slots=True)
class HybridScorer:
    """Words, instructions and meaning."""

    lexical: LexicalScorer
    semantic: SemanticScorer

    @property
    def signals(self) -> tuple[str, ...]:
        return (*self.lexical.signals, *self.semantic.signals)

    @property
    def calibration(self) -> Calibration:
        return CALIBRATIONS[self.signals]

    def add(self, key: int, skill: SkillMetadata) -> None:
        self.lexical.add(key, skill)
        self.semantic.add(key, skill)

    def remove(self, key: int) -> None:
        self.lexical.remove(key)
        self.semantic.remove(key)

    def only(self, key: int) -> "HybridScorer":
        """A scorer of one of the skills, as number 0."""
        return HybridScorer(self.lexical.only(key), self.semantic.only(key))

    def prepare(self) -> None:
        self.lexical.prepare()
        self.semantic.prepare()

    def scores(self, request: Request) -> dict[int, float]:
        total = self.lexical.scores(request)
        for key, cosine in self.semantic.scores(request).items():
            total[key] = total.get(key, 0.0) + SEMANTIC_SHARE * cosine
        return total

    def reasons(self, request: Request, key: int) -> tuple[str, ...]:
        return (*self.lexical.reasons(request, key), *self.semantic.reasons(request, key))
