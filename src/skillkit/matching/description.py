"""A skill's texts taken apart: what it is for, what it is not for, the phrases that its author quotes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

LONGEST_DESCRIPTION = 8_192
_DENIES = r"""
        (?:do\s+not|don['’]t|does\s+not|doesn['’]t|not|never|avoid|refuse|skip)\b
      | (?:also|and|but|it\s+is|it['’]s|this\s+(?:skill\s+)?is|is)\s+not\s+
            (?:for|intended|meant|suitable|designed|a\s+(?:substitute|replacement))\b
      | nor\s+for\b
      | (?:it|this(?:\s+skill)?)\s+(?:does\s+not|doesn['’]t)\s+(?:cover|handle|apply|replace|include)\b
      | (?:when|where)\s+not\s+to\s+use\b
      | exclu(?:des?|ding|sions?)\s*: | out[\s-]of[\s-]scope\b | (?:anti|negative|non)[\s-]?triggers?\b
      | use\s+[`'\"/]*[\w:./-]+[`'\"]*\s+(?:skill\s+)?instead\b
      | nicht\s+(?:für|verwenden|benutzen|nutzen|geeignet)\b | verwende\s+(?:es|dies\w*)\s+nicht\b
      | ne\s+pas\b | n['’]utilise[rz]?\s+pas\b
      | no\s+(?:usar|uses?|utilizar|utilice|es\s+para|sirve)\b
      | n[ãa]o\s+(?:use|usar|utilize|utilizar|é\s+para|serve)\b | non\s+(?:usare|utilizzare|è\s+per)\b
"""
"""How a sentence begins that says what a skill is not for."""
_SENTENCE_END = re.compile(
    rf"""(?<=[.!?;])[\"'”’)*]*\s+ | (?<=[。！？；])\s* | \n(?=[\s*•>-]{{0,8}}(?:{_DENIES}))""",
    re.IGNORECASE | re.VERBOSE,
)
_ELSEWHERE = re.compile(
    rf"""\W*(?:
        for\b[^.]*?(?:\bsee\b|\brefer\s+to\b|\buse\s+(?!this\b|when\b|it\b|for\b))
      | {_DENIES}
      )""",
    re.IGNORECASE | re.VERBOSE,
)
_SAID_ELSEWHERE = re.compile(
    r"""
        \b(?:is|are|stays?)\s+out[\s-]of[\s-]scope\b
      | \bbelongs?\s+to\s+(?:the\s+)?(?:[`/]|[a-z]+-[a-z-]+\b)
      | 不要(?:用|使用|调用) | 不(?:适用|適用) | 不用于 | 请勿 | 請勿
      | 使わない | 使用しない | 対象外 | 사용하지
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""The same anywhere in a sentence."""
_TAIL = re.compile(
    r"[,;(—–-]\s*(?:but\s+|and\s+)?(?:not\s+(?:for|when|to|intended|meant|suitable)"
    r"|(?:do\s+not|don['’]t)\s+(?:use|trigger|invoke))\b.*",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"\"([^\"\n]{2,80})\"|“([^”\n]{2,80})”|(?<!\w)['‘]([^'‘’\n]{2,80})['’](?!\w)")
# In instructions, where a “do not” is mostly about the work and not about when to use the skill.
_NOT_THIS_SKILL = re.compile(
    r"""\W*(?:
        (?:do\s+not|don['’]t|never|avoid)\s+(?:use|using|invoke|invoking|trigger|activate|apply)\s+
            (?:(?:this|the|it)\b(?:\s+skill)?\s*)?[*:_]*\s*(?:for|when|if|to|on|as|with)\b
      | not\s+(?:for|intended|meant|suitable|designed|applicable)\b
      | skip\s+this\s+skill\b
      | (?:out[\s-]of[\s-]scope|(?:anti|negative|non)[\s-]?triggers?)\s*[*_]*:
      | this\s+skill\s+(?:is\s+not|does\s+not|doesn['’]t|isn['’]t)\b
      | for\b[^.\n]{3,120}?,?\s+(?:use|see|invoke|switch\s+to|hand\s+off\s+to)\s+[`\"'/]?[a-z][\w-]+-[\w-]+
      )""",
    re.IGNORECASE | re.VERBOSE,
)
_NOT_HEADING = re.compile(
    r"^#{1,6}\s+.*?(?:when\s+not\s+to|not\s+(?:to\s+)?use|do\s+not\s+use|don['’]t\s+use|not\s+for|out\s+of\s+scope"
    r"|anti-?triggers?|when\s+to\s+skip)",
    re.IGNORECASE,
)
_LIST = re.compile(r"(?:\n\s*(?:[-*•]|\d+[.)])[ \t][^\n]+)+")
"""What stands in a list below a line."""
_OTHER_LINE_ENDS = "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_IN_LINE = ("use", "Use", "not", "Not", "NOT", "this skill", "cope:")
"""One of these is in every line of instructions that is looked at for a sentence that excludes."""
_DENYING = ("never", "avoid", "skip", "scope", "trigger")
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
        for sentence in filter(None, _SENTENCE_END.split(text[:LONGEST_DESCRIPTION])):
            if _ELSEWHERE.match(sentence) or _SAID_ELSEWHERE.search(sentence):
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
    if any(end in text for end in _OTHER_LINE_ENDS):
        text = "\n".join(text.splitlines())
    covered = 0
    for start in _starts_of_lines(text):
        if start < covered:
            continue
        end = _line_end(text, start)
        line = text[start:end]
        lowered = line.lower()
        denies = "not" in lowered or "n't" in lowered or "n’t" in lowered
        if line[0] != "#":
            sends = "for" in lowered and "-" in line
            # As no other sentence can match.
            if denies or sends or any(word in lowered for word in _DENYING):
                found = list(filter(_NOT_THIS_SKILL.match, _SENTENCE_END.split(line)))
                yield from found
                if found and line.rstrip(" *_").endswith(":") and (below := _LIST.match(text, end)):
                    yield from filter(str.strip, below.group().split("\n"))
        elif (denies or any(word in lowered for word in _DENYING)) and _NOT_HEADING.match(line):
            following = text.find("\n#", start)
            covered = len(text) if following < 0 else following + 1
            yield from (each for each in text[start:covered].split("\n")[1:] if each.strip())


def _starts_of_lines(text: str) -> list[int]:
    """Where the headings and the lines that may exclude something begin, in order; most lines do not."""
    starts = {0} if text.startswith("#") else set()
    at = text.find("\n#")
    while at >= 0:
        starts.add(at + 1)
        at = text.find("\n#", at + 1)
    for word in _IN_LINE:
        at = text.find(word)
        while at >= 0:
            starts.add(text.rfind("\n", 0, at) + 1)
            at = text.find(word, _line_end(text, at))
    return sorted(starts)


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end
