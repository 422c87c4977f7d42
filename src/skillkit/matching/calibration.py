"""The learned constants, and what each of them means.

Made by `python3 dev.py bench matching tune --write`; docs/matching.md says from what data and how.
"""

import math
from dataclasses import dataclass

from skillkit.matching.usual import MIDDLING


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
    """Skills imagined beside the real ones, with usual words as often as they are in skills: so that no word
    is rare just because the library is small."""
    commonness: float
    """How much an ordinary English word counts less, 0 to 1."""
    coverage: float
    """How much words of the request that nothing answers lower the score, 0 to 1."""
    evidence: float
    """Weight of words imagined unanswered, so that one word that fits is not yet a request that fits."""
    most_terms: int = 64
    """Of a long request only the most telling terms count."""

    def relative_length(self, terms: int) -> float:
        """By how much the words of a text of so many terms count less."""
        return 1 - self.length + self.length * terms / self.usual_length


@dataclass(frozen=True, slots=True)
class LexicalWeights:
    """How the signals of name, description, triggers and instructions add up."""

    words: WordWeights
    body: WordWeights
    name: float
    """How often a word of the name counts as said."""
    name_covered: float
    """What it is worth when the request says the whole name, in words of its own."""
    phrase: float
    """What a phrase that the author quotes adds."""
    excluded: float
    """What a sentence costs that sends the reader elsewhere and has the words of the request."""
    answered: float
    """What it is worth to answer the whole request instead of half of it, as a share of the score."""
    body_share: float
    """What the instructions' score counts, the description's being 1."""
    body_expected: float
    """What the instructions of a skill that has hardly any would add, as a share of its score."""


UNBOUNDED = 1_000_000
FEWEST_WORDS = 8
"""A shorter request has the line of this length: how often one meets a lower line by chance is not known."""


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
    margin: float
    """How far behind the best a skill may be and still be meant as well."""
    large: int = 1
    """Skills from which the size counts."""
    largest: int = UNBOUNDED
    """Skills up to which it counts: from there on the words of a request are found so often that they say
    less, and scores by chance grow no more."""
    typical: float = 0.0
    """By how much it falls where the request has a word that is typical of skills (`usual.typicality`): such
    a request more likely needs one than a riddle or a poem that shares as many words."""

    def line(self, words: int, skills: int, typicality: float = MIDDLING) -> float:
        """The raw score from which a skill matches."""
        length = math.log(max(words, FEWEST_WORDS) + 1)
        counted = max(min(skills, self.largest) / self.large, 1)
        raised = self.length * length + self.size * math.log(counted)
        return self.middle + raised - self.typical * (typicality - MIDDLING)

    def confidence(self, raw: float, line: float) -> float:
        exponent = self.slope * (line - raw)
        return 1 / (1 + math.exp(max(-700.0, min(exponent, 700.0))))

    def raw(self, confidence: float, line: float) -> float:
        """The raw score that has this confidence."""
        if confidence <= 0:
            return -math.inf
        if confidence >= 1:
            return math.inf
        return line + math.log(confidence / (1 - confidence)) / self.slope


LEXICAL = LexicalWeights(
    words=WordWeights(
        saturation=1.5,
        length=0.9,
        usual_length=35.0,
        prior=100.0,
        commonness=0.5,
        coverage=0.3,
        evidence=2.0,
    ),
    body=WordWeights(
        saturation=2.5,
        length=0.75,
        usual_length=1200.0,
        prior=200.0,
        commonness=0.5,
        coverage=0.3,
        evidence=2.0,
    ),
    name=2.0,
    name_covered=0.4,
    phrase=1.0,
    excluded=1.5,
    answered=0.5,
    body_share=0.6,
    body_expected=0.65,
)
SEMANTIC_SHARE = 2.0

CALIBRATIONS = {
    ("lexical",): Calibration(middle=0.573, length=0.0, size=0.15, slope=2.75, margin=0.5, large=3),
    ("semantic",): Calibration(middle=0.26, length=0.01, size=0.03, slope=12.51, margin=0.05, large=3),
    ("lexical", "body"): Calibration(
        middle=0.14, length=0.4, size=0.25, slope=2.41, margin=0.5, large=3, largest=3000, typical=0.2
    ),
    ("lexical", "semantic"): Calibration(middle=1.01, length=0.0, size=0.18, slope=3.51, margin=0.5, large=3),
    ("lexical", "body", "semantic"): Calibration(
        middle=0.303, length=0.4, size=0.28, slope=3.39, margin=0.5, large=3
    ),
}
