"""Hidden characters, and text made safe to show."""

import re
from collections.abc import Iterator

_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_ZERO_WIDTH = (
    "\u00ad\u034f\u180e\u200b-\u200d\u2060-\u2065\u206a-\u206f\ufeff\ufff0-\ufffb"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
)
_FILLERS = "\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800"
_VARIATION_SELECTORS = "\u180b-\u180d\u180f\ufe00-\ufe0f"
_TAGS = "\U000e0000-\U000e0fff"
_NONCHARACTERS = "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_LINE_BREAKS = "\u2028\u2029"

# An explicit list: filtering by Unicode category misses fillers and variation selectors.
_HIDDEN = _BIDI + _ZERO_WIDTH + _FILLERS + _VARIATION_SELECTORS + _TAGS + _NONCHARACTERS + _LINE_BREAKS
HIDDEN = re.compile(f"[{_CONTROLS}{_HIDDEN}]")
HIDDEN_OR_LAYOUT = re.compile(f"[{_CONTROLS}\t\n{_HIDDEN}]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_EMOJI = "\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff"
_IN_EMOJI = re.compile(f"(?<=[{_EMOJI}])\ufe0f?(?:\u200d(?=[{_EMOJI}]))?|(?<=[0-9#*])\ufe0f(?=\u20e3)")
"""The emoji variation selector and the zero-width joiner."""
_SHOWN = 200
_WHITE_SPACE = re.compile(r"\s+")
_ASCII_CONTROLS = bytes({*range(0x20), 0x7F} - {0x09, 0x0A})


def has_control(text: str) -> bool:
    """Whether `text` has characters that start a line, control a terminal, or cannot be encoded."""
    return not text.isprintable() and _CONTROL.search(text) is not None


def has_hidden(text: str) -> bool:
    """Whether `text` has hidden characters; those that are part of an emoji are visible."""
    if not text.isascii():
        return any(True for _ in hidden_in(text))
    if text.isprintable():
        return False
    raw = text.encode("ascii")  # ten times as fast as the expression, and most skills are ASCII
    return len(raw.translate(None, _ASCII_CONTROLS)) != len(raw)


def hidden_in(text: str) -> Iterator[re.Match[str]]:
    """Yield every hidden character with its place in `text`."""
    return HIDDEN.finditer(_IN_EMOJI.sub(lambda match: "." * len(match.group()), text))


def strip_hidden(text: str) -> str:
    """Remove control, bidi, zero-width, tag and filler characters from `text`; tab and newline stay."""
    return HIDDEN.sub("", text) if not text.isascii() or has_hidden(text) else text


def one_line(text: str) -> str:
    """Return `text` for a list: white space collapsed, hidden characters removed."""
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    return _WHITE_SPACE.sub(" ", strip_hidden(_WHITE_SPACE.sub(" ", text))).strip()


def shortened(text: str, limit: int) -> str:
    """Return `text` on one line, truncated visibly to `limit` characters."""
    line = one_line(text)
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def cut(text: str, length: int | None) -> str:
    """Truncate `text` visibly to `length` characters, between words if possible."""
    if length is None or len(text) <= length:
        return text
    kept = text[: length - 1]
    if not text[length - 1].isspace():
        space = kept.rfind(" ")
        kept = kept[:space] if space > length // 2 else kept
    return kept.rstrip(" ,;:.-") + "…"


def escape_hidden(text: str) -> str:
    """Escape hidden characters in `text` for a terminal."""
    return HIDDEN_OR_LAYOUT.sub(lambda match: _spelled(match.group()), text)


def shown(text: str) -> str:
    """Return `text` for a message: escaped and truncated."""
    return escape_hidden(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text):,} characters)")


def count_of(number: int, thing: str) -> str:
    """Return `1 skill`, `1,003 skills`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def texts_in(value: object) -> Iterator[str]:
    """Yield every string in a value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for item in value:
            yield from texts_in(item)
        if isinstance(value, dict):
            yield from texts_in(list(value.values()))


def _spelled(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(character, f"\\x{code:02x}")
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
