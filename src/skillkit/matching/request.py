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
      | no\s++[^.;!?,]{3,80}?\s(?:is|are)\s+(?:needed|required|involved|necessary)\b
      | (?:do|does|did)(?:\s+not|n['’]t)\s+(?:use|need|require|involve|want|include|touch)\b[^.;!?,]*
      | (?:without|rather\s+than|instead\s+of|unrelated\s+to|nothing\s+to\s+do\s+with)\b[^.;!?,]*
      )""",
    re.IGNORECASE | re.VERBOSE,
)
"""What a request says that it is not about."""
_SALUTATION = re.compile(
    r"\s*(?:hi|hiya|hello|hey)(?:\s+(?:there|again|all|everyone|everybody|folks|team))?\s*(?:[,.!?;]+\s*|$)",
    re.IGNORECASE,
)
"""How a request begins that is about something else, or about nothing."""
_PASTED = re.compile(r"(?m)^[ \t]*(```+|~~~+).*?(?:^[ \t]*\1|\Z)", re.DOTALL)
"""A fenced block: something to work on, which says less of what is asked than any other word."""
ENOUGH_WORDS = 6
"""Words outside of fenced blocks that can say what is asked."""
LEAD = 40
"""Words at either end of a request that count fully: what is asked stands there, and material between."""
LONGEST = 16_384
"""Characters that are looked at; what a request is about stands at its beginning and end."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a person asked for."""

    text: str
    words: dict[str, str] = field(compare=False)
    """Search term → the word it came from as it stands there, in the order of the request."""
    folded: str = field(compare=False)
    length: int = field(compare=False, default=0)
    """How many words it has outside of fenced blocks, the empty ones included."""
    emphasis: dict[str, float] = field(compare=False, default_factory=dict)
    """Search term → how much it counts, where that is less than 1: the farther from both ends, the less."""

    @classmethod
    def parse(cls, text: str) -> "Request":
        if len(text) > LONGEST:
            half = LONGEST // 2
            text = f"{text[:half]} {text[-half:]}"
        if not text.isascii():
            text = text.encode("utf-8", "replace").decode("utf-8")  # half a surrogate pair is no text
        asking = _PASTED.sub(" ", text) if "```" in text or "~~~" in text else text
        if asking is not text and len(asking.split()) < ENOUGH_WORDS:
            asking = text
        words: dict[str, str] = {}
        asked_words = _DENIED.sub(" ", asking[_greeted(asking) :]).split()
        for word in asked_words:
            for term in terms(word):
                if term not in words:
                    words[term] = word
        return cls(text, words, fold(text), len(asking.split()), _emphasis(asked_words))


def _emphasis(words: list[str]) -> dict[str, float]:
    """The terms that count less than fully wherever they stand, and how much."""
    if len(words) <= 2 * LEAD + 1:
        return {}
    emphasis: dict[str, float] = {}
    for place, word in enumerate(words):
        counts = _counts(place, len(words))
        for term in terms(word):
            if counts > emphasis.get(term, 0.0):
                emphasis[term] = counts
    return {term: counts for term, counts in emphasis.items() if counts < 1}


def _greeted(text: str) -> int:
    """Where a request begins, behind its salutation."""
    greeting = _SALUTATION.match(text)
    return 0 if greeting is None else greeting.end()


def _counts(place: int, words: int) -> float:
    """How much the word at `place` of so many counts."""
    within = min(place, words - 1 - place) - LEAD
    return LEAD / (LEAD + within) if within > 0 else 1.0


def shown(word: str) -> str:
    """A word of the request as a reason quotes it."""
    return one_line(word[:LONGEST_SHOWN]).strip(_PUNCTUATION)
