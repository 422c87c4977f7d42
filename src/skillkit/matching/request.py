"""A request as it is scored: bounded, taken apart once."""

from dataclasses import dataclass, field

from skillkit.matching.terms import fold, stem_of_word, terms_of_word, words

LONGEST = 16_384
"""Characters that are looked at; what a request is about stands at its beginning and end."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a person asked for."""

    text: str
    words: dict[str, str] = field(compare=False)
    """Search term → the word it came from, in the order of the request."""
    stems: tuple[str, ...] = field(compare=False)
    """The stems of all its words, in order."""
    folded: str = field(compare=False)
    length: int = field(compare=False)
    """How many words it has."""

    @classmethod
    def parse(cls, text: str) -> "Request":
        if len(text) > LONGEST:
            half = LONGEST // 2
            text = f"{text[:half]} {text[-half:]}"
        if not text.isascii():
            text = text.encode("utf-8", "replace").decode("utf-8")  # no lone surrogates
        by_term: dict[str, str] = {}
        found = words(text)
        for word in found:
            for term in terms_of_word(word):
                by_term.setdefault(term, word)
        return cls(text, by_term, tuple(map(stem_of_word, found)), fold(text), len(text.split()))
