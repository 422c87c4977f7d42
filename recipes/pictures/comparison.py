"""Whether two pictures say the same, as far as two machines can."""

import html
import re

A_PATH = 25
"""Tokens: instructions begin with their folder, which may be a longer one elsewhere."""
A_HAIR = 0.05
"""Scores: embeddings differ a little from processor to processor."""


def differences(before: str, now: str) -> list[tuple[str, str]]:
    """Words and numbers that are not the same; all of them if one picture says more than the other."""
    first, second = words(before), words(now)
    if len(first) != len(second):
        return [(" ".join(first), " ".join(second))]
    return [pair for pair in zip(first, second, strict=True) if not agree(*pair)]


def words(svg: str) -> list[str]:
    """What a picture says, without the bars beside its numbers."""
    shown = " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg))
    return html.unescape(re.sub("[█▏]+", " ", shown)).split()


def agree(before: str, now: str) -> bool:
    """The same word, or numbers that differ by no more than two machines may."""
    if before == now:
        return True
    try:
        first, second = (float(word.strip("().%").replace(",", "")) for word in (before, now))
    except ValueError:
        return False
    return abs(first - second) <= (A_HAIR if "." in before.rstrip(".") else A_PATH)
