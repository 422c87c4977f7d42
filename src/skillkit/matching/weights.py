"""What can be learned about matching: the meaning of every constant in `calibration`."""

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
    """Terms of a text that is neither long nor short: fixed, so that no score depends on the neighbours."""
    prior: float
    """Skills imagined beside the real ones, so that words are not rare just because the library is small."""
    commonness: float
    """How much an ordinary English word counts less, 0 to 1."""
    coverage: float
    """How much words of the request that nothing answers lower the score, 0 to 1."""
    evidence: float
    """Weight of words imagined unanswered, so that one word that fits is not yet a request that fits."""
    most_terms: int = 64
    """Of a long request only the most telling terms count."""


@dataclass(frozen=True, slots=True)
class LexicalWeights:
    """How the signals of name, description and triggers add up."""

    words: WordWeights
    name: float
    """How often a word of the name counts as said."""
    name_covered: float
    """What it is worth when the request says the whole name."""
    phrase: float
    """What a phrase that the author quotes adds."""
    elsewhere: float
    """What a word costs that stands only where the description sends the reader elsewhere."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Raw score to confidence: 0.5 is where a match begins, in every mode and library."""

    middle: float
    slope: float

    def confidence(self, raw: float) -> float:
        exponent = self.slope * (self.middle - raw)
        return 1 / (1 + math.exp(min(exponent, 700.0)))

    def raw(self, confidence: float) -> float:
        """The raw score that has this confidence."""
        if confidence <= 0:
            return -math.inf
        if confidence >= 1:
            return math.inf
        return self.middle + math.log(confidence / (1 - confidence)) / self.slope
