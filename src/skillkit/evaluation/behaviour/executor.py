"""Interface of executors: an agent of this program, or an external program."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from skillkit.core.models import SkillMetadata
from skillkit.evaluation.behaviour.transcript import Transcript


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
