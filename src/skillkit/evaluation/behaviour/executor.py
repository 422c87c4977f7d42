"""Interface of executors, an agent of this program or an external program: a task and its transcript."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from skillkit.core.codec import encode
from skillkit.core.models import SkillMetadata

EVALUATIONS = ("evals", "eval")
"""Folders of a skill that are no part of it for a model."""
MOST_FILES = 200
LONGEST_FILE = 200_000
_MOST_ENTRIES = 20_000
_DEEPEST = 20


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call by the model."""

    name: str
    arguments: str = ""
    result: str = ""


@dataclass(frozen=True, slots=True)
class Transcript:
    """One run from the first request to the last answer."""

    answer: str = ""
    calls: tuple[ToolCall, ...] = ()
    skills: tuple[str, ...] = ()
    """Skills whose instructions were sent to the model."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Text files in the folder of the case after the run."""
    tokens: int = 0
    requests: int = 1
    """Number of model requests."""
    seconds: float = 0.0
    cost: float | None = None
    """Cost, if the service reports it."""
    error: str = ""
    """Why the run is incomplete."""
    timed_out: bool = False
    """Whether it timed out, which is a valid result unlike any other error."""

    @property
    def broken(self) -> bool:
        """Whether the service or program failed, so that the run is no result of the skill."""
        return bool(self.error) and not self.timed_out

    def as_data(self) -> dict[str, object]:
        return {**encode(self), "seconds": round(self.seconds, 3)}


@dataclass(frozen=True, slots=True)
class Task:
    """A request with its folder and skill."""

    prompts: tuple[str, ...]
    folder: Path
    """A temporary folder with the files of the case."""
    skill: SkillMetadata | None
    """None for the baseline, which runs without the skill."""
    seconds: float = 300.0
    calls: Path | None = None
    """Path at which an executor may record each model response until the whole run is recorded."""
    mark: Path | None = None
    """Path of the marker for a pending request whose response would be lost with this process."""


class Executor(Protocol):
    """Runs a task and returns its transcript; a failure sets its `error`."""

    @property
    def name(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def paid(self) -> bool:
        """Whether runs may cost money."""
        ...

    @property
    def tells_cost(self) -> bool:
        """Whether its transcripts contain costs, which a limit in money requires."""
        ...

    def run(self, task: Task) -> Transcript: ...

    def close(self) -> None:
        """Release resources shared by all runs."""
        ...


def copy_skill(skill: SkillMetadata, folder: Path) -> None:
    """Copy a skill into a folder of skills, without its evaluations, which have the answers."""
    ignored = shutil.ignore_patterns(*EVALUATIONS, "__pycache__")
    shutil.copytree(skill.base_dir, folder / skill.base_dir.name, ignore=ignored)


def files_in(folder: Path) -> dict[str, str]:
    """Return the text files of a folder, limited in number, size and depth; links are skipped."""
    found: dict[str, str] = {}
    for path in sorted(plain_files(folder, LONGEST_FILE)):
        if len(found) >= MOST_FILES:
            break
        name = path.relative_to(folder).as_posix()
        if not name.startswith((".claude/", ".agents/", ".codex/", ".git/")):
            found[name] = path.read_text(encoding="utf-8", errors="replace")
    return found


def plain_files(folder: Path, longest: int) -> Iterator[Path]:
    """Yield the regular files that a third-party program left behind: no links, limited in number."""
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
