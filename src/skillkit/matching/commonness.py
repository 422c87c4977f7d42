"""How ordinary a word is, so that a small library need not guess it from its own few texts."""

import gzip
import math
from functools import lru_cache
from importlib import resources


def commonness(term: str) -> float:
    """1 for the commonest stem of English, 0 for one that is not among the common ones."""
    if len(term) <= 2 and term.isdigit():
        return 1.0  # the vocabulary leaves small numbers out; they are in any text and tell nothing
    return _table().get(term, 0.0)


@lru_cache(maxsize=1)
def _table() -> dict[str, float]:
    packed = resources.files("skillkit.matching").joinpath("common_stems.txt.gz").read_bytes()
    stems = gzip.decompress(packed).decode("utf-8").split("\n")
    whole = math.log(len(stems))
    return {term: 1 - math.log(rank) / whole for rank, term in enumerate(stems, 1)}
