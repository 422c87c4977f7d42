"""Identifiers in what was said: names such as KXNEXTPM-27-A that stand for one thing and are not words."""

import re
from collections.abc import Iterable

_JOINED = re.compile(r"\b[A-Z][A-Z0-9]+(?:[-_.][A-Z0-9]+)+\b")
_CAPITALS = re.compile(r"\b[A-Z][A-Z0-9]{4,}(?:[-_.][A-Z0-9]+)*\b")
_ALIKE = 2
"""Identifiers of one kind begin with so many of the same letters."""
_EVERY = re.compile(r"\b\w+(?:[-_.]\w+)*\b")


def has_identifier(text: str) -> bool:
    """Return whether a text has a word such as KXNEXTPM-27-A in it."""
    return _JOINED.search(text) is not None


def without_identifiers(text: str) -> str:
    return _JOINED.sub(" ", text)


def example_identifiers(values: Iterable[str]) -> list[str]:
    """Return the values of examples that are identifiers: written in capitals, with or without parts."""
    return [value for value in values if _CAPITALS.fullmatch(value) or _JOINED.fullmatch(value)]


def find_identifiers(text: str, shown: Iterable[str] = ()) -> list[str]:
    """Return the identifiers in a text, each once, in its order.

    Those with several parts in capitals are known by that; `shown` are identifiers of examples, and what
    begins like one of them is one too (KXHIGHNY, or kxhighny-26nov15, after KXNEXTPM-27-A).
    """
    beginnings = tuple({each[:_ALIKE].casefold() for each in shown})
    found = [
        word
        for word in _EVERY.findall(text)
        if _JOINED.fullmatch(word)
        or (
            beginnings
            and word.casefold().startswith(beginnings)
            and (_CAPITALS.fullmatch(word) or re.search(r"-\w*\d", word))
        )
    ]
    return list(dict.fromkeys(found))


def count_parts(identifier: str) -> int:
    """Return of how many parts an identifier is made: 3 for KXNEXTPM-27-A."""
    return len(re.split(r"[-_]", identifier))


def begin_alike(one: str, other: str) -> bool:
    """Return whether two identifiers begin as those of one kind do."""
    return one[:_ALIKE].casefold() == other[:_ALIKE].casefold()
