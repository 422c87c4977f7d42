"""A request prepared for scoring: truncated and tokenised once."""

from dataclasses import dataclass, field

from skillkit.matching.terms import fold, stem_of_word, terms_of_word, words

LONGEST = 16_384
"""Limit in characters; the beginning and the end of a longer request are kept."""


@dataclass(frozen=True, slots=True)
class Request:
    """A user's request."""

    text: str
    words: dict[str, str] = field(compare=False)
    """Search terms and the words they derive from, in the order of the request."""
    stems: tuple[str, ...] = field(compare=False)
    """The stems of all its words, in order."""
    folded: str = field(compare=False)
    length: int = field(compare=False)
    """Number of its words."""

    @classmethod
    def parse(cls, text: str) -> "Request":
        if len(text) > LONGEST:
            half = LONGEST // 2
            text = f"{text[:half]} {text[-half:]}"
        if not text.isascii():
            text = text.encode("utf-8", "replace").decode("utf-8")  # replace lone surrogates
        by_term: dict[str, str] = {}
        found = words(text)
        for word in found:
            for term in terms_of_word(word):
                by_term.setdefault(term, word)
        return cls(text, by_term, tuple(map(stem_of_word, found)), fold(text), len(text.split()))
