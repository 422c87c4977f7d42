"""The constants of scoring; docs/matching-measurements.md describes how they were chosen."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WordWeights:
    """Parameters of term weights, the same for descriptions and instructions."""

    saturation: float
    """Saturation of repeated terms."""
    length: float
    """Length normalization, 0 to 1."""
    usual_length: float
    """Number of terms in an average text: constant, so that no score depends on other skills."""
    prior: float
    """Number of virtual skills added to the library, with the usual term frequencies of skills, so that no
    term is rare only because the library is small."""
    coverage: float = 0.3
    """Penalty for request words that match nothing, 0 to 1."""
    evidence: float = 2.0
    """Weight of virtual unmatched terms, so that a single matching term is not a full match."""
    most_terms: int = 64
    """Number of terms of a long request that count: those with the highest weights."""

    def relative_length(self, terms: int) -> float:
        """Return the factor that reduces the weight of terms in a text of this length."""
        return 1 - self.length + self.length * terms / self.usual_length


WORDS = WordWeights(saturation=1.5, length=0.9, usual_length=35.0, prior=100.0)
BODY = WordWeights(saturation=2.5, length=0.75, usual_length=1200.0, prior=200.0)
NAME = 2.0
"""Number of times that a term in the name counts."""
NAME_COVERED = 0.4
"""Score bonus for a request that contains the full name."""
PHRASE = 1.0
"""Score bonus for a phrase that the author quotes."""
ANSWERED = 0.5
"""Bonus for matching the whole request instead of half of it, as a share of the score."""
BODY_SHARE = 0.6
"""Weight of the instructions' score; the description's is 1."""
SEMANTIC_SHARE = 2.0
"""Weight of a cosine relative to term scores."""

FEWEST_WORDS, FEWEST_SKILLS, MOST_SKILLS = 8, 3, 3_000
"""Limits of request length and library size beyond which the threshold is constant."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Converts a raw score to a confidence: 0.5 is the threshold of a match, in every mode and library."""

    middle: float
    """Base of the threshold, before the request's length and the library's size raise it."""
    length: float
    """Increase per logarithm of the request's length: a long request shares more words by chance."""
    size: float
    """Increase per logarithm of the library's size: more skills share words by chance."""
    slope: float

    def line(self, words: int, skills: int) -> float:
        """Return the raw score from which a skill matches."""
        length = math.log(max(words, FEWEST_WORDS) + 1)
        size = math.log(max(min(skills, MOST_SKILLS) / FEWEST_SKILLS, 1))
        return self.middle + self.length * length + self.size * size

    def confidence(self, raw: float, line: float) -> float:
        exponent = self.slope * (line - raw)
        return 1 / (1 + math.exp(max(-700.0, min(exponent, 700.0))))


CALIBRATIONS = {
    ("semantic",): Calibration(middle=0.371, length=0.01, size=0.03, slope=12.51),
    ("lexical", "body"): Calibration(middle=0.715, length=0.4, size=0.25, slope=2.41),
    ("lexical", "body", "semantic"): Calibration(middle=0.712, length=0.4, size=0.28, slope=3.39),
}
