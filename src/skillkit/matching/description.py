"""A skill's texts taken apart: what it is for, what it is not for, the phrases that its author quotes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

LONGEST_DESCRIPTION = 8_192
_SENTENCE_END = re.compile(r"(?<=[.!?;])[\"'”’)*]*\s+")
_ELSEWHERE = re.compile(
    r"""\W*(?:
        for\b[^.]*?(?:\bsee\b|\brefer\s+to\b|\buse\s+(?!this\b|when\b|it\b|for\b))
      | (?:do\s+not|don['’]t|does\s+not|doesn['’]t|not|never|avoid|refuse|skip)\b
      )""",
    re.IGNORECASE | re.VERBOSE,
)
_TAIL = re.compile(r"[,;(—–-]\s*(?:but\s+)?not\s+(?:for|when|to|intended|meant)\b.*", re.IGNORECASE)
_QUOTED = re.compile(r"\"([^\"\n]{2,80})\"|“([^”\n]{2,80})”|(?<!\w)['‘]([^'‘’\n]{2,80})['’](?!\w)")
# In instructions, where a “do not” is mostly about the work and not about when to use the skill.
_NOT_THIS_SKILL = re.compile(
    r"""\W*(?:
        (?:do\s+not|don['’]t|never|avoid)\s+(?:use|using|invoke|invoking|trigger|activate|apply)\s+
            (?:(?:this|the|it)\b(?:\s+skill)?\s*)?(?:for|when|if|to|on|as|with)\b
      | not\s+(?:for|intended|meant|suitable)\b
      | this\s+skill\s+(?:is\s+not|does\s+not|doesn['’]t|isn['’]t)\b
      | for\b[^.\n]{3,120}?,?\s+(?:use|see|invoke|switch\s+to|hand\s+off\s+to)\s+[`\"'/]?[a-z][\w-]+-[\w-]+
      )""",
    re.IGNORECASE | re.VERBOSE,
)
_NOT_HEADING = re.compile(
    r"^#{1,6}\s+.*?(?:when\s+not\s+to|not\s+(?:to\s+)?use|do\s+not\s+use|don['’]t\s+use|not\s+for|out\s+of\s+scope)",
    re.IGNORECASE,
)
MOST_PHRASES = 64
MOST_EXCLUSIONS = 24
LONGEST_EXCLUSION = 400


@dataclass(frozen=True, slots=True)
class Description:
    """One description, by what each part says about a request."""

    purpose: str
    exclusions: tuple[str, ...]
    """Sentences that send the reader elsewhere: “For X, see Y”, “Do not use for …”."""
    phrases: tuple[str, ...]
    """What the author quotes as typical requests."""

    @classmethod
    def parse(cls, text: str) -> "Description":
        purpose: list[str] = []
        exclusions: list[str] = []
        for sentence in _SENTENCE_END.split(text[:LONGEST_DESCRIPTION]):
            if _ELSEWHERE.match(sentence):
                exclusions.append(sentence)
                continue
            tail = _TAIL.search(sentence)
            if tail:
                exclusions.append(tail.group())
                sentence = sentence[: tail.start()]  # noqa: PLW2901
            purpose.append(sentence)
        kept = " ".join(purpose)
        quoted = ("".join(groups).strip(" ,.;:") for groups in _QUOTED.findall(kept))
        phrases = tuple(dict.fromkeys(phrase for phrase in quoted if phrase))
        return cls(kept, tuple(exclusions[:MOST_EXCLUSIONS]), phrases[:MOST_PHRASES])


def exclusions_of_body(text: str) -> list[str]:
    """The sentences of instructions that say when the skill is not to be used."""
    found: list[str] = []
    for sentence in _excluding(text):
        found.append(sentence[:LONGEST_EXCLUSION])
        if len(found) == MOST_EXCLUSIONS:
            break
    return found


def _excluding(text: str) -> Iterator[str]:
    under_heading = False
    for line in text.splitlines():
        if line.startswith("#"):
            under_heading = bool(_NOT_HEADING.match(line))
        elif under_heading and line.strip():
            yield line
        elif "use" in line or "not" in line or "Not" in line or "Use" in line:
            yield from (sentence for sentence in _SENTENCE_END.split(line) if _NOT_THIS_SKILL.match(sentence))
