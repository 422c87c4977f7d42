"""How usual a term is in skills: what a library too small to say it by its own texts is told."""

import gzip
from functools import lru_cache
from importlib import resources
from typing import NamedTuple


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
