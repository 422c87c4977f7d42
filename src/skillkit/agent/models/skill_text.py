"""What the text of a skill says to a question about it: its own sentences, not a model's."""

import re
from collections.abc import Iterator

from skillkit.core.text import one_line
from skillkit.disclosure.fence import attribute
from skillkit.matching.terms import terms

_MOST = 2
_LONGEST = 200
_PARAGRAPH = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*+#|]|\d+\.)\s?)")
_NO_PROSE = re.compile(r"\s*(?:[#|`<]|Base directory )")
_MARK = re.compile(r"\s*(?:[-*+]|\d+\.)\s+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


def sentences_about(skill: str, question: str, described: str, instructions: str) -> str:
    """Return the sentences of a skill in use that have a word of a question; `described` is known already."""
    asked = set(terms(question)) - set(terms(f"{skill} {described}"))
    sentences = [(len(asked & set(terms(each))), each) for each in _sentences(skill, instructions)]
    most = max((count for count, _ in sentences), default=0)
    return " ".join([each for count, each in sentences if count == most > 0][:_MOST])


def _sentences(skill: str, instructions: str) -> Iterator[str]:
    start = re.escape(f'<skill_context id="{attribute(skill)}">\n<instructions>\n')
    found = re.search(rf"{start}\[(\w+) begin\]\n(.*?)\n\[\1 end\]", instructions, re.DOTALL)
    for paragraph in _PARAGRAPH.split(found[2]) if found else ():
        if not _NO_PROSE.match(paragraph):
            whole = _SENTENCE.split(one_line(_MARK.sub("", paragraph, count=1)))
            yield from (each for each in whole if len(each) <= _LONGEST and each.endswith((".", "!")))
