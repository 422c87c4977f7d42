"""What one run did: the answer, the calls of tools, the files, and what it cost."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from skillkit.core.codec import decode, encode

MOST_FILES = 200
LONGEST_FILE = 200_000
_MOST_ENTRIES = 20_000
_DEEPEST = 20
NO_FILES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the model called."""

    name: str
    arguments: str = ""
    result: str = ""


@dataclass(frozen=True, slots=True)
class Transcript:
    """One run from the first request to the last answer."""

    answer: str = ""
    calls: tuple[ToolCall, ...] = ()
    skills: tuple[str, ...] = ()
    """Skills whose instructions the model got."""
    files: Mapping[str, str] = field(default_factory=lambda: NO_FILES)
    """Text files in the folder of the case at the end."""
    tokens: int = 0
    requests: int = 1
    """How often a model was asked."""
    seconds: float = 0.0
    cost: float | None = None
    """Where the service says so."""
    error: str = ""
    """Why the run did not come to its end."""
    timed_out: bool = False
    """It did not end because its time was over, which is an answer; any other error is none."""

    @property
    def broken(self) -> bool:
        """Whether the service or program failed, so that the run says nothing about the skill."""
        return bool(self.error) and not self.timed_out

    def as_data(self) -> dict[str, object]:
        return {**encode(self), "seconds": round(self.seconds, 3)}

    @classmethod
    def from_data(cls, data: Mapping[str, object]) -> "Transcript":
        return decode(cls, data, forgiving=True)


def files_in(folder: Path) -> dict[str, str]:
    """The text files of a folder, bounded in number, size and depth; what a link leads to is none of them."""
    found: dict[str, str] = {}
    for path in sorted(plain_files(folder, LONGEST_FILE)):
        if len(found) >= MOST_FILES:
            break
        name = path.relative_to(folder).as_posix()
        if not name.startswith((".claude/", ".agents/", ".codex/", ".git/")):
            found[name] = path.read_text(encoding="utf-8", errors="replace")
    return found


def plain_files(folder: Path, longest: int) -> Iterator[Path]:
    """Return what may be read of what somebody else's program has left behind: no links, nothing endless."""
    waiting = [(os.fspath(folder), 0)]
    left = _MOST_ENTRIES
    while waiting:
        here, depth = waiting.pop()
        with suppress(OSError), os.scandir(here) as entries:
            for entry in entries:
                left -= 1
                if left < 0:
                    return
                if entry.is_dir(follow_symlinks=False):
                    if depth < _DEEPEST:
                        waiting.append((entry.path, depth + 1))
                elif (
                    entry.is_file(follow_symlinks=False)
                    and entry.stat(follow_symlinks=False).st_size <= longest
                ):
                    yield Path(entry.path)
