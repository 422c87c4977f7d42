"""Find skills and files of cases in some paths, and the skill of each file."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from skillkit.core.disk import real_path
from skillkit.core.limits import CASE_DOCUMENTS
from skillkit.core.manager import SkillManager
from skillkit.core.models import Diagnostic, Severity, SkillMetadata
from skillkit.evaluation.cases import Suite, Unreadable
from skillkit.evaluation.formats import SUFFIXES, read_cases_file

MAX_DEPTH = 12
_SKIPPED = frozenset({"node_modules", "__pycache__", "venv", "site-packages", "dist", "build", "target"})
_SHOWN = frozenset({".claude", ".agents", ".agent", ".apm"})
_FOLDERS = frozenset(
    {"eval", "evals", "eval-cases", "eval_cases", "evaluation", "evaluations", "trigger-evals"}
)
_MAYBE_FOLDERS = frozenset({"test", "tests", "testing", "tasks", "cases"})
_RESULT_FOLDERS = frozenset(
    {"results", "result", "runs", "recordings", "files", "fixtures", "outputs", "snapshots", "reports"}
)
_WORDS = frozenset("eval evals evaluations trigger triggers activation queries".split())
_NEVER = frozenset(
    {"package.json", "package-lock.json", "tsconfig.json", "plugin.json", "marketplace.json", "accepted.json"}
)


@dataclass(frozen=True, slots=True)
class FoundSuites:
    """Suites beneath a folder, and unreadable files with the reason."""

    suites: tuple[Suite, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()


def find_suites(places: Iterable[Path], skill: str | None = None) -> FoundSuites:
    """Return every file of cases in `places`; files already named by another file are listed once.

    A file whose name or folder marks it as cases is reported if it contains none; other test files, and files
    directly in a named folder, are ignored unless they contain cases.
    """
    suites: dict[Path, Suite] = {}
    unreadable: dict[Path, Unreadable] = {}
    parts: set[Path] = set()
    for path, certain in _candidates(places):
        resolved = real_path(path)
        if resolved in suites or resolved in unreadable:
            continue
        found = read_cases_file(path, skill or skill_around(path))
        if isinstance(found, Suite):
            suites[resolved] = found
            parts.update(real_path(part) for part in found.parts)
        elif certain:
            unreadable[resolved] = found
    return FoundSuites(
        tuple(suite for path, suite in suites.items() if path not in parts),
        tuple(found for path, found in unreadable.items() if path not in parts),
    )


def skills_in(folders: Iterable[Path]) -> SkillManager:
    """Return a manager with exactly the skills beneath some folders; a folder may be a skill itself."""
    manager = SkillManager(only=folders, include_nested=True)
    manager.discover()
    return manager


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


def skill_around(path: Path) -> str | None:
    """Return the name of the folder of the skill that contains a file."""
    folder = folder_around(path)
    return folder.name if folder is not None else None


def folder_around(path: Path) -> Path | None:
    return next((folder for folder in real_path(path).parents if (folder / "SKILL.md").is_file()), None)


def _candidates(places: Iterable[Path]) -> Iterator[tuple[Path, bool]]:
    for place in places:
        if place.is_file():
            yield place, True
            continue
        inside = {part.lower() for part in real_path(place).parts[-2:]}
        for number, (path, folders) in enumerate(_walk(place)):
            if number >= CASE_DOCUMENTS:
                return
            known = folders | (inside & _FOLDERS)
            name = path.name.lower()
            if name in _NEVER or name.endswith(".schema.json") or any(map(_holds_results, known)):
                continue
            hinted = bool(_WORDS & set(re.split(r"[^a-z]+", name)))
            if hinted or known & _FOLDERS:
                yield path, hinted or path.parent.name.lower() in _FOLDERS
            elif known & _MAYBE_FOLDERS or path.parent == place:
                yield path, False


def _holds_results(folder: str) -> bool:
    return folder in _RESULT_FOLDERS or "results" in re.split(r"[^a-z]+", folder)


def _walk(
    folder: Path, depth: int = 0, above: frozenset[str] = frozenset()
) -> Iterator[tuple[Path, frozenset[str]]]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            hidden = entry.name.startswith(".") and entry.name not in _SHOWN
            if depth < MAX_DEPTH and not hidden and entry.name not in _SKIPPED:
                yield from _walk(Path(entry.path), depth + 1, above | {entry.name.lower()})
        elif entry.is_file(follow_symlinks=False) and os.path.splitext(entry.name)[1] in SUFFIXES:
            yield Path(entry.path), above
