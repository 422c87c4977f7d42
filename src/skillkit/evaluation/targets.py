"""Targets of a test run: a skill, a folder of skills, or a file of cases."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from skillkit.core.models import Diagnostic, Severity, SkillMetadata
from skillkit.evaluation.discovery import FoundSuites, find_suites, folder_around
from skillkit.evaluation.tester import skills_in


@dataclass(frozen=True, slots=True)
class Targets:
    """The skills and cases found in some paths."""

    skills: tuple[SkillMetadata, ...] = ()
    unloadable: tuple[Diagnostic, ...] = ()
    """Invalid skill files."""
    suites: FoundSuites = field(default_factory=FoundSuites)
    alone: bool = False
    """Whether there are only files of cases outside any skill, so that a separate library is needed."""


def find_targets(paths: Sequence[Path]) -> Targets:
    """Find the skills beneath `paths`, or around a file of cases, and their cases."""
    folders = dict.fromkeys(_folders(paths))
    if not folders:
        return Targets(suites=find_suites(paths), alone=True)
    manager = skills_in(folders)
    broken = tuple(found for found in manager.diagnostics if found.severity is Severity.ERROR)
    return Targets(tuple(manager.list_skills()), broken, find_suites(paths))


def _folders(paths: Iterable[Path]) -> Iterable[Path]:
    for path in paths:
        if path.is_dir():
            around = path if (path / "SKILL.md").is_file() else folder_around(path / "SKILL.md")
            yield around or path
        elif (around := folder_around(path)) is not None:
            yield around
