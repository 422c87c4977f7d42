"""Whoever carries out a task: an agent of this program, or another program."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from skillkit.core.models import SkillMetadata
from skillkit.evaluation.behaviour.transcript import Transcript


@dataclass(frozen=True, slots=True)
class Task:
    """What is asked, in which folder, with which skill at hand."""

    prompts: tuple[str, ...]
    folder: Path
    """A throw-away folder with the files of the case."""
    skill: SkillMetadata | None
    """None is the baseline: the same without the skill."""
    seconds: float = 300.0
    calls: Path | None = None
    """Where an executor that can keeps each answer of the model until the whole run is recorded."""
    mark: Path | None = None
    """Where it leaves a mark while it waits for an answer that would be lost with this process."""


class Executor(Protocol):
    """Runs a task and tells what happened; what goes wrong is the transcript's `error`."""

    @property
    def name(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def paid(self) -> bool:
        """Whether a run may cost money."""
        ...

    @property
    def tells_cost(self) -> bool:
        """Whether its transcripts say what they cost, so that a limit in money can hold."""
        ...

    def run(self, task: Task) -> Transcript: ...

    def close(self) -> None:
        """Give back what it holds for all its runs."""
        ...
