"""Scores of words, meaning and instructions added up: scores, never ranks, because a rank says
nothing about whether anything fits at all."""

import heapq
from dataclasses import dataclass

from skillkit.core.models import SkillMetadata
from skillkit.matching.body import BodyScorer
from skillkit.matching.calibration import BODY_SHARE, CALIBRATIONS, SEMANTIC_SHARE
from skillkit.matching.lexical import LexicalScorer
from skillkit.matching.request import Request
from skillkit.matching.scorer import Scorer
from skillkit.matching.semantic import SemanticScorer
from skillkit.matching.weights import Calibration

CANDIDATES = 100
LEXICAL, SEMANTIC, BODY = "lexical", "semantic", "body"


@dataclass(frozen=True, slots=True)
class HybridScorer:
    """Words, and of meaning and instructions what is at hand."""

    lexical: LexicalScorer
    semantic: SemanticScorer | None = None
    body: BodyScorer | None = None

    @property
    def signals(self) -> tuple[str, ...]:
        return (LEXICAL, *([SEMANTIC] if self.semantic else []), *([BODY] if self.body else []))

    @property
    def calibration(self) -> Calibration:
        return CALIBRATIONS[self.signals]

    def add(self, key: int, skill: SkillMetadata) -> None:
        for scorer in self._scorers():
            scorer.add(key, skill)

    def remove(self, key: int) -> None:
        for scorer in self._scorers():
            scorer.remove(key)

    def prepare(self) -> None:
        for scorer in self._scorers():
            scorer.prepare()

    def scores(self, request: Request) -> dict[int, float]:
        total = dict(self.lexical.scores(request))
        if self.semantic:
            for key, value in self.semantic.scores(request).items():
                total[key] = total.get(key, 0.0) + SEMANTIC_SHARE * value
        return self._with_body(total, request) if self.body else total

    def reasons(self, request: Request, key: int) -> tuple[str, ...]:
        return tuple(reason for scorer in self._scorers() for reason in scorer.reasons(request, key))

    def _with_body(self, total: dict[int, float], request: Request) -> dict[int, float]:
        """The instructions' share for the best so far; nothing else could reach the line with it.

        A skill that has hardly any instructions is judged by the rest alone: its score is moved to
        where the same confidence lies when instructions count.
        """
        assert self.body is not None
        self.body.prepare()
        whole, rest = self.calibration, CALIBRATIONS[self.signals[:-1]]
        best = heapq.nlargest(CANDIDATES, total, key=total.__getitem__)
        mentioned = self.body.scores(request, best)
        for key in best:
            lack = self.body.lacking.get(key, 0.0)
            if lack:
                alone = whole.middle + (total[key] - rest.middle) * rest.slope / whole.slope
                total[key] = (1 - lack) * total[key] + lack * alone
            total[key] += BODY_SHARE * mentioned.get(key, 0.0)
        return total

    def _scorers(self) -> tuple[Scorer, ...]:
        return tuple(scorer for scorer in (self.lexical, self.semantic, self.body) if scorer)
