"""Split the instructions of a skill into lines of prose, lines of code and headings."""

import re
from dataclasses import dataclass

# No pattern backtracks: the files are third-party.
_FENCE = re.compile(r"^[ \t>]*+(?:[-*+]|\d++[.)])?[ \t]*+(?P<mark>`{3,}+|~{3,}+)(?P<info>[^`]*+)$")
_HEADING = re.compile(r"^ {0,3}#{1,6}\s++(?P<text>.+)$")
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_ANCHOR_ID = re.compile(
    r"<a\s[^<>]{0,300}?(?:name|id)=[\"']([^\"'<>]{1,300})[\"']|\{#([\w-]{1,300})\}", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Line:
    number: int
    text: str
    fenced: bool
    """Whether the line is inside a code block."""

    def code_spans(self) -> list[str]:
        return [span[1] for span in _CODE.findall(self.text)]


@dataclass(frozen=True, slots=True)
class Document:
    """A Markdown file, header included, so that line numbers match the file."""

    lines: tuple[Line, ...]
    open_fence: int | None = None
    """The line of an unclosed code block."""

    @classmethod
    def parse(cls, text: str) -> "Document":
        lines: list[Line] = []
        mark, opened = "", None
        header = text.startswith("---")
        for number, line in enumerate(text.splitlines(), 1):
            if header:
                header = not (number > 1 and line.rstrip() == "---")
                continue
            fence = _FENCE.match(line)
            if fence and not mark:
                mark, opened = fence["mark"], number
                lines.append(Line(number, line, True))
            elif fence and fence["mark"].startswith(mark) and not fence["info"].strip():
                mark, opened = "", None
                lines.append(Line(number, line, True))
            else:
                lines.append(Line(number, line, bool(mark)))
        return cls(tuple(lines), opened)

    @property
    def prose(self) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if not line.fenced)

    def anchors(self) -> set[str]:
        """Return the anchors of the headings, as GitHub generates them."""
        found: set[str] = set()
        for line in self.prose:
            if heading := _HEADING.match(line.text):
                slug = slug_of(heading["text"].rstrip().rstrip("#"))
                number = 0
                while (numbered := f"{slug}-{number}" if number else slug) in found:
                    number += 1
                found.add(numbered)
            found.update(name for groups in _ANCHOR_ID.findall(line.text) for name in groups if name)
        return found


def slug_of(heading: str) -> str:
    text = re.sub(r"!?\[([^\[\]]{0,300})\]\([^()]{0,500}\)", r"\1", heading)
    text = re.sub(r"[`*]|<[^<>]{1,300}>", "", text).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
