"""The ways of scoring: each is a mode by name, with the calibration of its scores."""

from collections.abc import Mapping
from typing import Protocol

from skillkit.core.models import SkillMetadata
from skillkit.matching.calibration import Calibration
from skillkit.matching.embedding import HYBRID_TOKENS, Embedder, default_embedder
from skillkit.matching.hybrid import HybridScorer
from skillkit.matching.lexical import BodyReader, LexicalScorer
from skillkit.matching.request import Request
from skillkit.matching.semantic import SemanticScorer
from skillkit.matching.settings import MatchingSettings, Mode
from skillkit.matching.vectors import VectorCache


class Scorer(Protocol):
    """Scores skills, which it knows by number, for a request."""

    @property
    def signals(self) -> tuple[str, ...]:
        """What the scores are made of."""
        ...

    @property
    def calibration(self) -> Calibration: ...

    def add(self, key: int, skill: SkillMetadata) -> None: ...

    def remove(self, key: int) -> None: ...

    def only(self, key: int) -> "Scorer":
        """A scorer of this one skill, as number 0, by what is known of it."""
        ...

    def prepare(self) -> None:
        """Do now what the next request would have to wait for."""
        ...

    def scores(self, request: Request) -> Mapping[int, float]:
        """A raw score, larger is better, for every skill that has any."""
        ...

    def reasons(self, request: Request, key: int) -> tuple[str, ...]:
        """Why this skill has its score, for a person."""
        ...


def make_scorer(
    mode: Mode, settings: MatchingSettings, read_body: BodyReader | None, embedder: Embedder | None
) -> Scorer | None:
    """The scorer of a mode; `keyword` needs none beside the declared triggers."""
    if mode is Mode.KEYWORD:
        return None
    if mode is Mode.LEXICAL:
        return LexicalScorer(read_body)
    vectors = VectorCache(settings.cache_dir)
    if mode is Mode.SEMANTIC:
        return SemanticScorer(embedder or default_embedder(), vectors)
    return HybridScorer(
        LexicalScorer(read_body), SemanticScorer(embedder or default_embedder(), vectors, HYBRID_TOKENS)
    )
