"""How usual a term is in skills: what a library too small to say it by its own texts is told."""

import gzip
import math
from collections.abc import Collection
from functools import lru_cache
from importlib import resources
from typing import NamedTuple

from skillkit.matching.terms import commonness

MIDDLING = 4.0
"""The typicality of a request of which nothing is known."""
LEAST = 3.5
"""What any request has at least: people make skills for things that no public one is about."""
_UNUSUAL = 0.0005
"""The share of descriptions that may have a term which is missing below."""
_ENGLISH = math.log(8000)
"""How much rarer than the commonest stem of English the last of the common ones is."""


class UsualTerms(NamedTuple):
    """Term → the share of texts that have it; a term that is in hardly any is missing."""

    descriptions: dict[str, float]
    bodies: dict[str, float]


@lru_cache(maxsize=1)
def usual_terms() -> UsualTerms:
    packed = resources.files("skillkit.matching").joinpath("usual_terms.txt.gz").read_bytes()
    descriptions: dict[str, float] = {}
    bodies: dict[str, float] = {}
    for line in gzip.decompress(packed).decode("utf-8").splitlines():
        term, described, instructed = line.split(" ")
        if described != "0":
            descriptions[term] = int(described) / 1000
        if instructed != "0":
            bodies[term] = int(instructed) / 1000
    return UsualTerms(descriptions, bodies)


def typicality(terms: Collection[str]) -> float:
    """How much more usual the most telling of these terms is in descriptions of skills than in English, as a
    logarithm: mostly 4 to 6 for requests that skills are made for. One word alone says nothing."""
    if len(terms) < 2:
        return MIDDLING
    shares = usual_terms().descriptions.get
    found = (math.log(shares(term, _UNUSUAL)) + _ENGLISH * (1 - commonness(term)) for term in terms)
    return max(LEAST, *found)
