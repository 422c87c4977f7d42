"""Slips in the words by which skills are asked for: `gret Ann` is for the skill that greets."""

import re
from collections.abc import Sequence

from skillkit.core.models import SkillMetadata
from skillkit.matching.terms import is_usual, terms

_SHORTEST = 5
"""Shorter words are one letter away from too many others."""
_WORD = re.compile(r"(?<![\w./@-])[^\W\d_]{4,}(?![\w./@-])")


def correct_spelling(request: str, skills: Sequence[SkillMetadata]) -> str:
    """Return a request with the words that skills declare in place of those with one slip in them.

    A word that English has means itself, and one with a capital is a name unless it begins a sentence.
    """
    declared = {
        word.casefold()
        for skill in skills
        for word in (*skill.triggers.keywords, *skill.triggers.verbs)
        if len(word) >= _SHORTEST and word.isalpha()
    }

    def meant(found: re.Match[str]) -> str:
        word = found[0].casefold()
        begins = re.search(r"(?:^|[.!?:])\W*$", request[: found.start()]) is not None
        if word in declared or any(map(is_usual, terms(word))) or (found[0] != word and not begins):
            return found[0]
        near = [other for other in declared if _is_one_slip(word, other)]
        return near[0] if len(near) == 1 else found[0]

    return _WORD.sub(meant, request) if declared else request


def _is_one_slip(written: str, meant: str) -> bool:
    """Return whether a letter is missing, too many, another one, or has changed places with its neighbour."""
    start = next((i for i, (a, b) in enumerate(zip(written, meant, strict=False)) if a != b), len(written))
    left, right = written[start:], meant[start:]
    swapped = left[:2] == right[:2][::-1] and left[2:] == right[2:]
    return left[1:] == right or left == right[1:] or left[1:] == right[1:] or swapped
