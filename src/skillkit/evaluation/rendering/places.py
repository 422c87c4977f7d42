"""Locations of a report's problems in a repository, for renderings beside the code."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from skillkit.core.disk import real_path
from skillkit.evaluation.report import BAD, CaseOutcome, Report, Result


class LocatedProblem(NamedTuple):
    """One problem of a result, with its location."""

    result: Result
    is_error: bool
    path: str
    """Relative to the repository root if inside it; may be empty."""
    line: int | None
    message: str


def problems_with_places(report: Report, base: Path) -> Iterator[LocatedProblem]:
    """Yield failures and warnings, with paths relative to `base`."""
    folders = {skill.name: Path(skill.path) for skill in report.skills}
    for result in report.results:
        if result.outcome in BAD or result.outcome is CaseOutcome.WARNED:
            yield from _of(result, folders.get(result.skill), base)


def _of(result: Result, folder: Path | None, base: Path) -> Iterator[LocatedProblem]:
    if not result.problems:
        place = result.suite or (str(folder / "SKILL.md") if folder else "")
        yield LocatedProblem(result, result.outcome in BAD, _relative(place, base), None, result.message)
    for problem in result.problems:
        place = str(folder / problem.path) if folder and problem.path else result.suite
        yield LocatedProblem(
            result, not problem.warning, _relative(place, base), problem.line, problem.message
        )


def _relative(path: str, base: Path) -> str:
    try:
        return real_path(Path(path)).relative_to(real_path(base)).as_posix() if path else ""
    except ValueError:
        return path
