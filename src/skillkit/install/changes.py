"""The difference of two trees, as file changes and as lines that are safe to show."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from skillkit.core.digest import FileDigest
from skillkit.core.text import escape_hidden

MAX_LINES = 400
MAX_COLUMNS = 160
_AROUND = 40
_MAX_CHANGED = 4000
_MAX_COMPARED = 4000


@dataclass(frozen=True, slots=True)
class FileChange:
    """One path that differs."""

    kind: str
    """`added`, `removed`, `changed` or `mode` when only the executable bit changed."""
    path: str

    def __str__(self) -> str:
        return f"{self.kind}: {escape_hidden(self.path)}"


def file_changes(before: Mapping[str, FileDigest], after: Mapping[str, FileDigest]) -> tuple[FileChange, ...]:
    """Return the paths that differ, sorted."""
    changes = []
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if old is None:
            changes.append(FileChange("added", path))
        elif new is None:
            changes.append(FileChange("removed", path))
        elif old.sha256 != new.sha256:
            changes.append(FileChange("changed", path))
        elif old.executable != new.executable:
            changes.append(FileChange("mode", path))
    return tuple(changes)


def diff_lines(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Iterator[str]:
    """Return the whole unified difference, escaped; for files that are not text, their sizes."""
    for path in sorted(before.keys() | after.keys()):
        if before.get(path) != after.get(path):
            yield from _file_lines(path, before.get(path), after.get(path))


def _file_lines(path: str, before: bytes | None, after: bytes | None) -> Iterator[str]:
    old, new = _text_lines(before), _text_lines(after)
    if old is None or new is None:
        sizes = " → ".join("none" if side is None else f"{len(side):,}" for side in (before, after))
        yield f"{escape_hidden(path)}: not text, {sizes} bytes"
        return
    names = (
        "nothing" if before is None else f"a/{path}",
        "nothing" if after is None else f"b/{path}",
    )
    yield from (escape_hidden(line) for line in _unified(old, new, names))


def _unified(old: list[str], new: list[str], names: tuple[str, str]) -> Iterator[str]:
    start = _equal(old, new)
    end = _equal(old[start:][::-1], new[start:][::-1])
    if max(len(old), len(new)) - start - end <= _MAX_COMPARED:
        yield from difflib.unified_diff(old, new, *names, lineterm="", n=2)
        return
    # Comparing takes quadratic time: of two long texts all that is between equal ends is shown.
    gone, come = old[start : len(old) - end], new[start : len(new) - end]
    yield from (f"--- {names[0]}", f"+++ {names[1]}")
    yield f"@@ -{start + 1},{len(gone)} +{start + 1},{len(come)} @@"
    yield from (f"-{line}" for line in gone)
    yield from (f"+{line}" for line in come)


def _equal(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the length of the common prefix."""
    return next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def _text_lines(content: bytes | None) -> list[str] | None:
    if content is None:
        return []
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text.split("\n")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The part of a diff that fits on a screen, and the number of lines left out."""

    lines: tuple[str, ...]
    hidden_lines: int = 0
    """Added and removed lines that are not among `lines`."""
    hidden_characters: int = 0
    """Characters of shown lines that are added or removed and left out."""


def excerpt(diff: Sequence[str], *, max_lines: int = MAX_LINES, max_columns: int = MAX_COLUMNS) -> Excerpt:
    """Return the first lines; of a long line the part that changed is kept, never only the rest."""
    names, partners = _name_lines(diff), _partners(diff)
    shown, cut = [], 0
    for number, line in enumerate(diff[:max_lines]):
        changed = number not in names and line.startswith(("+", "-"))
        text, lost = _shorten(line, partners.get(number), max_columns, changed=changed)
        shown.append(text)
        cut += lost
    rest = (number for number in range(max_lines, len(diff)) if diff[number].startswith(("+", "-")))
    return Excerpt(tuple(shown), sum(number not in names for number in rest), cut)


def _name_lines(diff: Sequence[str]) -> set[int]:
    """Find file name lines; a changed line may look like one, but never precedes `@@`."""
    found: set[int] = set()
    for number in range(len(diff) - 2):
        if (
            diff[number].startswith("--- ")
            and diff[number + 1].startswith("+++ ")
            and diff[number + 2].startswith("@@ ")
        ):
            found |= {number, number + 1}
    return found


def _partners(diff: Sequence[str]) -> dict[int, str]:
    """Map each changed line to the one it replaced, or that replaced it."""
    found: dict[int, str] = {}
    runs = [[*run] for _, run in groupby(range(len(diff)), lambda number: diff[number][:1])]
    for gone, come in pairwise(runs):
        if (diff[gone[0]][:1], diff[come[0]][:1]) == ("-", "+"):
            for old, new in zip(gone, come, strict=False):
                found[old], found[new] = diff[new], diff[old]
    return found


def _shorten(line: str, partner: str | None, columns: int, *, changed: bool) -> tuple[str, int]:
    """Return the line around its change, and the number of changed characters that were cut."""
    if len(line) <= columns:
        return line, 0
    if not changed:
        return f"{line[: columns - 1]}…", 0
    text, other = line[1:], (partner or " ")[1:]
    start = _equal(text, other)
    end = len(text) - _equal(text[start:][::-1], other[start:][::-1])
    begin = max(0, start - _AROUND)
    until = min(len(text), end + _AROUND, begin + _MAX_CHANGED)
    before, after = "…" * (begin > 0), "…" * (until < len(text))
    return f"{line[0]}{before}{text[begin:until]}{after}", max(0, end - until)
