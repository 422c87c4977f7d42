"""Skills that a text names in a marked form. The marks are literal; no sentence is interpreted."""

import re
from collections.abc import Iterator

from skillkit.core.names import canonical_name

_NAME = r"(?:[\w.-]{1,100}:)?([A-Za-z0-9][\w-]{0,99})"
_SKILL_ONLY = (
    rf"\bSkill\(\s*(?:skill\s*[:=]\s*)?[\"'`]?{_NAME}[\"'`]?\s*[,)]",
    rf"\bREQUIRED SUB-SKILL:[*\s]{{0,6}}(?:Use\s+)?`?{_NAME}",
    r"\]\(\s*<?(?:\.\./){1,16}(?:\.?\w[\w.-]{0,99}/){0,16}?([\w-]{1,100})/(?:SKILL\.md)?[)>#\s]",
)
_PERHAPS_SKILL = (rf"`/?{_NAME}`", rf"\[/?{_NAME}(?=\]\()", rf"(?<![\w./~`<])/{_NAME}(?![\w/.:-])")
_CALLS = re.compile("|".join(_SKILL_ONLY))
_MARKS = re.compile("|".join((*_SKILL_ONLY, *_PERHAPS_SKILL)))


def named_skills(text: str) -> Iterator[str]:
    """Yield the names in forms that only a skill has: Skill(x), REQUIRED SUB-SKILL: x, ../x/SKILL.md."""
    return _names(_CALLS, text)


def marked_names(text: str) -> Iterator[str]:
    """Yield names in these forms, in code, links or as /name; compare them with the skills that exist."""
    return _names(_MARKS, text)


def _names(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    for found in pattern.finditer(text):
        yield canonical_name(next(name for name in found.groups() if name))
