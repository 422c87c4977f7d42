"""Names of files in a project, and patterns of them: the `paths` of a header, as Claude Code reads them.

`*` stays within a folder, `**` crosses folders, braces are alternatives. Patterns are untrusted: each part
of a path is matched by itself and without going back, so that none can take long.
"""

import os
import posixpath
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

MAX_PATTERNS = 1000
MAX_LENGTH = 4096
_ANYWHERE = "**"
_BRACES = re.compile(r"\\.|[{},]", re.DOTALL)
_TOKEN = re.compile(r"\[(?P<set>.[^]]*)\]|\\.|.", re.DOTALL)
_NOTHING = re.compile(r"(?!)")


@lru_cache(maxsize=1024)
def matches_any(patterns: tuple[str, ...], path: str, *, partial: bool = False) -> bool:
    """Whether one of `patterns` matches `path`, relative to the project and with `/` between its parts.

    With `partial`, `path` may lack folders at its beginning.
    """
    parts = tuple(part for part in path.split("/") if part)
    return any(_fits(pattern, parts, partial=partial) for pattern in _compiled(patterns))


def relative_name(name: str, project: Path) -> str | None:
    """Return `name` relative to the project; None for a file outside of it."""
    try:
        path = os.path.expanduser(name) if name.startswith("~") else name
        if not os.path.isabs(path):
            here = Path.cwd()
            inside = here.is_relative_to(project) and os.path.lexists(here / path)
            path = os.fspath((here if inside else project) / path)
        relative = posixpath.normpath(Path(os.path.relpath(path, project)).as_posix())
    except (OSError, ValueError):
        return None
    return None if relative in (".", "..") or relative.startswith("../") else relative


def expand_braces(patterns: Iterable[str]) -> list[str]:
    """Expand braces; where that gives too many patterns, braces are literal."""
    expanded: list[str] = []
    for pattern in patterns:
        alternatives = [pattern]
        while any(_alternatives(each) for each in alternatives):
            alternatives = [new for each in alternatives for new in (_alternatives(each) or [each])]
            if len(expanded) + len(alternatives) > MAX_PATTERNS:
                alternatives = [pattern]
                break
        expanded += alternatives
    return expanded[:MAX_PATTERNS]


def _alternatives(pattern: str) -> list[str]:
    """Return the alternatives of the first pair of braces with a comma in it; none without such a pair."""
    depth, start, cuts = 0, -1, list[int]()
    for mark in _BRACES.finditer(pattern):
        position = mark.start()
        if mark[0] == "{":
            if depth == 0:
                start, cuts = position, []
            depth += 1
        elif mark[0] == "," and depth == 1:
            cuts.append(position)
        elif mark[0] == "}" and depth:
            depth -= 1
            if depth == 0 and cuts:
                inner = [pattern[low + 1 : high] for low, high in pairwise([start, *cuts, position])]
                return [f"{pattern[:start]}{one}{pattern[position + 1 :]}" for one in inner]
    return []


@lru_cache(maxsize=256)
def _compiled(patterns: tuple[str, ...]) -> tuple[tuple[re.Pattern[str] | None, ...], ...]:
    return tuple(
        _parts(pattern) for pattern in expand_braces(each for each in patterns if len(each) <= MAX_LENGTH)
    )


def _parts(pattern: str) -> tuple[re.Pattern[str] | None, ...]:
    """Return the parts of a pattern; None for any number of folders."""
    pattern = pattern.removeprefix("./").lstrip("/")
    if pattern.endswith("/"):
        pattern += _ANYWHERE  # a folder means what is in it
    return tuple(None if part == _ANYWHERE else _part(part) for part in pattern.split("/") if part)


def _fits(pattern: Sequence[re.Pattern[str] | None], parts: Sequence[str], *, partial: bool) -> bool:
    """Whether the parts match one after the other; `reached` are the numbers of parts matched so far."""
    reached = {0}
    for place, wanted in enumerate(pattern, 1):
        if partial:
            reached.add(0)
        if not reached:
            return False
        if wanted is None:  # at the end it must match something
            reached = set(range(min(reached) + (place == len(pattern)), len(parts) + 1))
        else:
            reached = {end + 1 for end in reached if end < len(parts) and wanted.fullmatch(parts[end])}
    return len(parts) in reached


def _part(part: str) -> re.Pattern[str]:
    """Match one part of a path; every piece after a `*` is searched once, from left to right."""
    pieces = [""]
    for token in _TOKEN.finditer(part):
        if token[0] == "*":
            pieces.append("")
        elif token[0] == "?":
            pieces[-1] += "."
        elif token[0] == "[":
            return _NOTHING
        elif inner := token["set"]:
            negated = inner[0] in "!^"
            escaped = re.sub(r"([\\\[\]&~|^])", r"\\\1", inner[negated:])
            pieces[-1] += f"[{'^' if negated else ''}{escaped}]"
        else:
            pieces[-1] += re.escape(token[0][-1])
    first, *others = pieces
    if not others:
        return _regex(first)
    *middle, last = others
    found = "".join(f"(?>.*?{piece})" for piece in middle if piece)
    return _regex(f"{first}{found}.*{last}")


def _regex(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text, re.DOTALL)
    except re.error:
        return _NOTHING
