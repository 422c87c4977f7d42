"""What somebody names to be tested: a skill, a folder of skills, or a file of cases."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from skillkit.core.models import SkillMetadata
from skillkit.evaluation.discovery import FoundSuites, find_suites, folder_around
from skillkit.evaluation.tester import skills_in


@dataclass(frozen=True, slots=True)
class Targets:
    """The skills and cases that some paths hold."""

    skills: tuple[SkillMetadata, ...] = ()
    suites: FoundSuites = field(default_factory=FoundSuites)
    alone: bool = False
    """Only files of cases, none in a skill's folder: the library has to come from elsewhere."""


def find_targets(paths: Sequence[Path]) -> Targets:
    """The skills beneath `paths`, or around a file of cases, and the cases that lie with them."""
    folders = dict.fromkeys(_folders(paths))
    skills = skills_in(folders).list_skills() if folders else []
    return Targets(tuple(skills), find_suites(paths), alone=not folders)


def _folders(paths: Iterable[Path]) -> Iterable[Path]:
    for path in paths:
        if path.is_dir():
            around = path if (path / "SKILL.md").is_file() else folder_around(path / "SKILL.md")
            yield around or path
        elif (around := folder_around(path)) is not None:
            yield around
