"""The learned constants."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LexicalWeights:
    """How the signals of shared words add up."""

    name: float = 1.0
    saturation: float = 1.5
    length: float = 0.75
    usual_length: float = 50.0
    prior: float = 50.0
    commonness: float = 0.5
    coverage: float = 0.4
    name_covered: float = 0.4
    phrase: float = 0.7
    elsewhere: float = 0.3
    most_terms: int = 64


LEXICAL = LexicalWeights()


@dataclass(frozen=True, slots=True)
class BodyWeights:
    """BM25 over the instructions."""

    saturation: float = 1.5
    length: float = 0.75
    usual_length: float = 800.0
    prior: float = 50.0
    commonness: float = 0.5
    coverage: float = 0.4
    most_terms: int = 64


BODY = BodyWeights()
