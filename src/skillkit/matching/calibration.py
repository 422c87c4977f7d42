"""The constants of scoring; docs/matching-measurements.md says how they were set."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WordWeights:
    """How much one shared word says; the same for descriptions and for instructions."""

    saturation: float
    """How soon a repeated word stops adding anything."""
    length: float
    """How much a long text is held against itself, 0 to 1."""
    usual_length: float
    """Terms of a text of usual length: fixed, so that no score depends on the neighbours."""
    prior: float
    """Skills imagined beside the real ones, with usual words as often as they are in skills: so that no word
    is rare just because the library is small."""
    coverage: float = 0.3
    """How much words of the request that nothing answers lower the score, 0 to 1."""
    evidence: float = 2.0
    """Weight of words imagined unanswered, so that one word that fits is not yet a request that fits."""
    most_terms: int = 64
    """Of a long request only the most telling terms count."""

    def relative_length(self, terms: int) -> float:
        """By how much the words of a text of this many terms count less."""
        return 1 - self.length + self.length * terms / self.usual_length


WORDS = WordWeights(saturation=1.5, length=0.9, usual_length=35.0, prior=100.0)
BODY = WordWeights(saturation=2.5, length=0.75, usual_length=1200.0, prior=200.0)
NAME = 2.0
"""How often a word of the name counts as said."""
NAME_COVERED = 0.4
"""What it is worth when the request says the whole name."""
PHRASE = 1.0
"""What a phrase that the author quotes adds."""
ANSWERED = 0.5
"""What it is worth to answer the whole request instead of half of it, as a share of the score."""
BODY_SHARE = 0.6
"""What the instructions' score counts, the description's being 1."""
SEMANTIC_SHARE = 2.0
"""What a cosine counts beside words."""

FEWEST_WORDS, FEWEST_SKILLS, MOST_SKILLS = 8, 3, 3_000
"""Below and above these the line stays as it is."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Raw score to confidence: 0.5 is where a match begins, in every mode and library."""

    middle: float
    """Where the line begins, before the request's length and the library's size raise it."""
    length: float
    """By how much it rises with the logarithm of the request's length: a long request shares more words."""
    size: float
    """By how much it rises with the logarithm of the library's size: more skills share more by chance."""
    slope: float

    def line(self, words: int, skills: int) -> float:
        """The raw score from which a skill matches."""
        length = math.log(max(words, FEWEST_WORDS) + 1)
        size = math.log(max(min(skills, MOST_SKILLS) / FEWEST_SKILLS, 1))
        return self.middle + self.length * length + self.size * size

    def confidence(self, raw: float, line: float) -> float:
        exponent = self.slope * (line - raw)
        return 1 / (1 + math.exp(max(-700.0, min(exponent, 700.0))))


CALIBRATIONS = {
    ("lexical",): Calibration(middle=1.077, length=0.0, size=0.15, slope=2.75),
    ("semantic",): Calibration(middle=0.371, length=0.01, size=0.03, slope=12.51),
    ("lexical", "body"): Calibration(middle=0.715, length=0.4, size=0.25, slope=2.41),
    ("lexical", "semantic"): Calibration(middle=1.405, length=0.0, size=0.18, slope=3.51),
    ("lexical", "body", "semantic"): Calibration(middle=0.712, length=0.4, size=0.28, slope=3.39),
}
