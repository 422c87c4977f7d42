"""A request as it is scored: bounded, taken apart once."""

import re
from dataclasses import dataclass, field

from skillkit.core.text import one_line
from skillkit.matching.terms import fold, terms

LONGEST_SHOWN = 40
_PUNCTUATION = " .,;:!?\"'`“”‘’()[]{}<>"
_DENIED = re.compile(
    r"""\b(?:
        (?:i['’]?m|i\s+am|we['’]?re|we\s+are|it['’]?s|it\s+is|this\s+is|that\s+is)\s+not\s+
            (?:using|about|asking|for|related|an?|the|on|in|with)\b[^.;!?]*
      | not\s+(?:for|about|using|related\s+to)\b[^.;!?,]*
      | no\s+[^.;!?,]{3,80}?\s+(?:is|are)\s+(?:needed|required|involved|necessary)\b
      )""",
    re.IGNORECASE | re.VERBOSE,
)
"""What a request says that it is not about."""
LONGEST = 16_384
"""Characters that are looked at; what a request is about stands at its beginning and end."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a person asked for."""

    text: str
    words: dict[str, str] = field(compare=False)
    """Search term → the word it came from, in the order of the request."""
    folded: str = field(compare=False)
    length: int = field(compare=False, default=0)
    """How many words it has, the empty ones included."""

    @classmethod
    def parse(cls, text: str) -> "Request":
        if len(text) > LONGEST:
            half = LONGEST // 2
            text = f"{text[:half]} {text[-half:]}"
        text = text.encode("utf-8", "replace").decode("utf-8")  # half a surrogate pair is no text
        words: dict[str, str] = {}
        written = text.split()
        for word in _DENIED.sub(" ", text).split():
            quoted = shown(word)
            for term in terms(word):
                words.setdefault(term, quoted)
        return cls(text, words, fold(text), len(written))


def shown(word: str) -> str:
    """A word of the request as a reason quotes it."""
    return one_line(word[:LONGEST_SHOWN]).strip(_PUNCTUATION)
