"""From bytes to a header: where it starts and ends, and the plain data in it.

Most headers are plain `field: value` lines and are read as such. Everything else goes to the YAML
reader; where both can read a header they give the same answer, which a test checks.
"""

import re
from typing import NamedTuple

from skillkit.core.simple_header import Field, load_simple

MAX_HEADER_BYTES = 64 * 1024
_MAX_BLANK = 1024
HEAD_BYTES = MAX_HEADER_BYTES + _MAX_BLANK + 1024
"""Most bytes of a file that are searched for its header."""
FIRST_READ = 4096
"""Enough for nearly every header; a file without one is searched no further."""
BOM = b"\xef\xbb\xbf"

_BLANK = re.compile(rb"[ \t\r\n]{0,%d}" % _MAX_BLANK)
_OPENING = re.compile(rb"---[ \t]{0,32}(?:\r?\n|\r|$)")
_CLOSING = re.compile(rb"(?:\r\n|\n|\r)---[ \t]{0,32}(?=\r|\n|$)")
_LINE_BREAK = re.compile(rb"\r\n|\n|\r")
_HEADER_LINE = re.compile(rb"(?:[A-Za-z][\w-]*:(?=[ \t\r\n]|$)|[ \t]+\S|-[ \t])[^\r\n]*(?:\r\n|\n|\r|$)")


class Split(NamedTuple):
    """Where the parts of a SKILL.md are, in bytes."""

    found: bool
    """There is an opening fence."""
    terminated: bool
    header_start: int
    header_end: int
    body_start: int
    first_line: int
    """The number of the header's first line in the file."""
    late: bool
    """There is blank text before the opening fence."""
    bom: bool


def split(data: bytes) -> Split:
    """Find the fences. Each is a whole line; `---` inside a value is not a fence.

    A header that does not end within its limit is taken to end at the first line that looks like prose.
    The answer is the same for a whole file and for its first `HEAD_BYTES`.
    """
    # Nearly every file: plain fences, and no other spelling of one before the second.
    end = data.find(b"\n---\n", 3) if data.startswith(b"---\n") else -1
    if 0 <= end <= MAX_HEADER_BYTES and data.find(b"\n---", 3) == end and data.find(b"\r", 0, end) < 0:
        return Split(True, True, 4, max(4, end), end + 5, 2, False, False)
    data = data[:HEAD_BYTES]
    start = len(BOM) if data.startswith(BOM) else 0
    blank = _BLANK.match(data, start)
    fence = blank.end() if blank else start
    opening = _OPENING.match(data, fence)
    if not opening:
        return Split(False, False, start, start, start, 1, False, start > 0)
    header_start = opening.end()
    first_line = len(_LINE_BREAK.findall(data, start, fence)) + 2
    # The line break that ends the opening fence may also begin the closing one.
    closing = _CLOSING.search(data, max(header_start - 1, fence + 3))
    terminated = closing is not None and closing.start() - header_start <= MAX_HEADER_BYTES
    if closing is not None and terminated:
        line_break = _LINE_BREAK.match(data, closing.end())
        header_end = max(header_start, closing.start())
        body_start = line_break.end() if line_break else closing.end()
    else:
        header_end = body_start = _first_prose(data, header_start)
    return Split(True, terminated, header_start, header_end, body_start, first_line, fence > start, start > 0)


def _first_prose(data: bytes, position: int) -> int:
    while position < len(data) and (line := _HEADER_LINE.match(data, position)):
        position = line.end()
    return position


def load(text: str, first_line: int = 1, *, text_only: frozenset[str] = frozenset()) -> list[Field]:
    """The top-level entries of a header; fields in `text_only` keep every scalar as it is written.

    Raises InvalidYAMLError or InvalidFrontmatterError, with line and column in the file.
    """
    fields = load_simple(text, first_line, text_only)
    if fields is not None:
        return fields
    from skillkit.core.yaml_header import load_yaml

    return load_yaml(text, first_line, text_only)
