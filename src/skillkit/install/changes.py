"""What is different between two trees, in words and in lines that are safe to show."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from skillkit.core.digest import FileDigest
from skillkit.core.text import escape_hidden

MAX_LINES = 200
MAX_LINES_A_FILE = 60
MAX_COLUMNS = 160
_MAX_COMPARED = 4000


@dataclass(frozen=True, slots=True)
class FileChange:
    """One path that is not what it was."""

    kind: str
    """`added`, `removed`, `changed` or `mode` when only the executable bit changed."""
    path: str

    def __str__(self) -> str:
        return f"{self.kind}: {escape_hidden(self.path)}"


def file_changes(before: Mapping[str, FileDigest], after: Mapping[str, FileDigest]) -> tuple[FileChange, ...]:
    """The paths that differ, sorted."""
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


def diff_lines(
    before: Mapping[str, bytes], after: Mapping[str, bytes], *, max_lines: int = MAX_LINES
) -> Iterator[str]:
    """A unified difference, escaped and bounded; what is left out is said."""
    left = max_lines
    paths = [path for path in sorted(before.keys() | after.keys()) if before.get(path) != after.get(path)]
    for number, path in enumerate(paths):
        if left <= 0:
            yield f"… and {len(paths) - number} more changed files"
            return
        lines = list(_file_lines(path, before.get(path), after.get(path)))
        room = min(left, MAX_LINES_A_FILE)
        yield from lines[:room]
        if len(lines) > room:
            yield f"… and {len(lines) - room} more lines of {escape_hidden(path)}"
        left -= min(len(lines), room)


def _file_lines(path: str, before: bytes | None, after: bytes | None) -> Iterator[str]:
    import difflib

    shown = escape_hidden(path)
    old, new = _text_lines(before), _text_lines(after)
    if old is None or new is None:
        sizes = " → ".join("none" if side is None else f"{len(side):,}" for side in (before, after))
        yield f"{shown}: binary or very long, {sizes} bytes"
        return
    names = (
        "nothing" if before is None else f"a/{path}",
        "nothing" if after is None else f"b/{path}",
    )
    for line in difflib.unified_diff(old, new, *names, lineterm="", n=2):
        text = escape_hidden(line)
        yield text if len(text) <= MAX_COLUMNS else f"{text[: MAX_COLUMNS - 1]}…"


def _text_lines(content: bytes | None) -> list[str] | None:
    if content is None:
        return []
    try:
        lines = content.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        return None
    return None if len(lines) > _MAX_COMPARED or "\0" in content.decode() else lines
