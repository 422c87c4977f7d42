"""Scores by meaning: the cosine between the request and what the description says."""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from skillkit.core.models import SkillMetadata
from skillkit.matching.calibration import CALIBRATIONS, Calibration
from skillkit.matching.description import Description
from skillkit.matching.embedding import QUERY_TOKENS, Embedder
from skillkit.matching.request import Request

if TYPE_CHECKING:
    from skillkit.matching.embedding import Vectors

REMEMBERED = 256
CLOSE = 0.35
"""A cosine worth mentioning to a person."""
LONGEST_TEXT = 4_096


class VectorStore(Protocol):
    """Vectors of texts, made when they are not known yet."""

    def vectors(self, texts: list[str], embedder: Embedder) -> "Vectors": ...


@dataclass(slots=True)
class SemanticScorer:
    """One vector a skill; a request costs one run of the model and one product of matrices."""

    embedder: Embedder
    store: VectorStore
    tokens: int = QUERY_TOKENS
    """How much of a request is read."""
    _texts: dict[int, str] = field(default_factory=dict)
    _matrix: "Vectors | None" = None
    _rows: dict[int, int] = field(default_factory=dict)
    """Which row of the matrix belongs to which skill."""
    _asked: "OrderedDict[str, Vectors]" = field(default_factory=OrderedDict)

    @property
    def signals(self) -> tuple[str, ...]:
        return ("semantic",)

    @property
    def calibration(self) -> Calibration:
        return CALIBRATIONS[self.signals]

    def add(self, key: int, skill: SkillMetadata) -> None:
        self._texts[key] = embedded_text(skill)
        self._matrix = None

    def remove(self, key: int) -> None:
        del self._texts[key]
        self._matrix = None

    def only(self, key: int) -> "SemanticScorer":
        """A scorer of one of the skills, as number 0, that knows the same requests."""
        return SemanticScorer(
            self.embedder, self.store, self.tokens, {0: self._texts[key]}, _asked=self._asked
        )

    def prepare(self) -> None:
        if self._matrix is None:
            self._rows = {key: row for row, key in enumerate(self._texts)}
            self._matrix = self.store.vectors(list(self._texts.values()), self.embedder)

    def scores(self, request: Request) -> dict[int, float]:
        self.prepare()
        if self._matrix is None or not self._rows or not request.text.strip():
            return {}
        cosines = self._matrix @ self._vector(request.text)
        return dict(zip(self._rows, cosines.clip(0.0, 1.0).tolist(), strict=True))

    def reasons(self, request: Request, key: int) -> tuple[str, ...]:
        self.prepare()
        if self._matrix is None or not request.text.strip():
            return ()
        cosine = float(self._matrix[self._rows[key]] @ self._vector(request.text))
        return (f"its description means something close (cosine {cosine:.2f})",) if cosine >= CLOSE else ()

    def _vector(self, text: str) -> "Vectors":
        """The request's vector; the last few are kept, because one request is often asked twice."""
        text = text[:LONGEST_TEXT]
        known = self._asked.get(text)
        if known is None:
            known = self.embedder.embed([text], self.tokens)[0]
            self._asked[text] = known
            if len(self._asked) > REMEMBERED:
                self._asked.popitem(last=False)
        return known


def embedded_text(skill: SkillMetadata) -> str:
    """What stands for a skill: its name in words and what it is for."""
    purpose = Description.parse(skill.description).purpose
    words = skill.name.replace("-", " ").replace("_", " ")
    return f"{words}: {purpose}"
