"""Skills and files that a text names in a marked form. The marks are literal; no sentence is interpreted."""

import re
from collections.abc import Iterator
from urllib.parse import unquote

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

LINK = re.compile(r"(?<!\\)\]\(\s*<?(?P<target>[^)\s>]{1,500})>?(?:\s+[\"'][^\"'\n]{0,300}[\"'])?\s*\)")
_ELSEWHERE = re.compile(r"[/~]|[A-Za-z][A-Za-z0-9+.-]*:")
_FILE = re.compile(
    r"(?:(?<![\w/.~$:>}-])(?:\./)?|(?:\$\{CLAUDE_SKILL_DIR\}|\{baseDir\})/)"
    r"((?:scripts|references|assets)/[\w./-]{0,200}\w\.\w{1,8})(?![\w/])"
)
_OPEN = re.compile(r"[*{}<>$|\[\]…]|\.\.\.")
"""Marks of a path that is to be filled in."""


def named_skills(text: str) -> Iterator[str]:
    """Yield the names in forms that only a skill has: Skill(x), REQUIRED SUB-SKILL: x, ../x/SKILL.md."""
    return _names(_CALLS, text)


def marked_names(text: str) -> Iterator[str]:
    """Yield names in these forms, in code, links or as /name; compare them with the skills that exist."""
    return _names(_MARKS, text)


def linked_files(text: str) -> Iterator[str]:
    """Yield the relative targets of links, without anchor and query."""
    for link in LINK.finditer(text):
        target = unquote(link["target"]).split("#")[0].split("?")[0]
        name = target.rpartition("/")[2]
        if (
            target
            and not _ELSEWHERE.match(target)
            and not _OPEN.search(target)
            and ("/" in target or "." in name)
        ):
            yield target


def named_files(text: str) -> Iterator[str]:
    """Yield paths in the folders of the specification: scripts, references and assets of the skill itself."""
    return (path for path in _FILE.findall(text) if not _OPEN.search(path))


def _names(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    for found in pattern.finditer(text):
        yield canonical_name(next(name for name in found.groups() if name))
