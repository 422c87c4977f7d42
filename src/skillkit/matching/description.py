"""A description taken apart: what the skill is for, what it is not for, the phrases it quotes."""

import re
from dataclasses import dataclass

_SENTENCE_END = re.compile(r"(?<=[.!?;])[\"'”’)]*\s+")
_ELSEWHERE = re.compile(
    r"""\W*(?:
        for\b[^.]*?(?:\bsee\b|\brefer\s+to\b|\buse\s+(?!this\b|when\b|it\b|for\b))
      | (?:do\s+not|don['’]t|does\s+not|doesn['’]t|not|never|avoid|refuse|skip)\b
      )""",
    re.IGNORECASE | re.VERBOSE,
)
_TAIL = re.compile(r"[,;(—–-]\s*(?:but\s+)?not\s+(?:for|when|to|intended|meant)\b.*", re.IGNORECASE)
_QUOTED = re.compile(r"\"([^\"\n]{2,80})\"|“([^”\n]{2,80})”|(?<!\w)['‘]([^'‘’\n]{2,80})['’](?!\w)")
MOST_PHRASES = 64


@dataclass(frozen=True, slots=True)
class Description:
    """One description, by what each part says about a request."""

    purpose: str
    elsewhere: str
    """Sentences that send the reader to another skill: “For X, see Y”, “Do not use for …”."""
    phrases: tuple[str, ...]
    """What the author quotes as typical requests."""

    @classmethod
    def parse(cls, text: str) -> "Description":
        purpose: list[str] = []
        elsewhere: list[str] = []
        for sentence in _SENTENCE_END.split(text):
            if _ELSEWHERE.match(sentence):
                elsewhere.append(sentence)
                continue
            tail = _TAIL.search(sentence)
            if tail:
                elsewhere.append(tail.group())
                sentence = sentence[: tail.start()]  # noqa: PLW2901
            purpose.append(sentence)
        kept = " ".join(purpose)
        quoted = ("".join(groups).strip(" ,.;:") for groups in _QUOTED.findall(kept))
        phrases = tuple(dict.fromkeys(phrase for phrase in quoted if phrase))
        return cls(kept, " ".join(elsewhere), phrases[:MOST_PHRASES])
