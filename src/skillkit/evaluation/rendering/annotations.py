"""A report as lines that GitHub shows beside the code."""

from collections.abc import Iterator
from pathlib import Path

from skillkit.core.disk import real_path
from skillkit.core.text import escape_hidden
from skillkit.evaluation.report import BAD, CaseOutcome, Report, Result


def github_annotations(report: Report, base: Path) -> list[str]:
    """`::error` and `::warning` lines with paths relative to `base`, the root of the repository."""
    folders = {skill.name: Path(skill.path) for skill in report.skills}
    lines: list[str] = []
    for result in report.results:
        if result.outcome in BAD or result.outcome is CaseOutcome.WARNED:
            lines.extend(_of(result, folders.get(result.skill), base))
    return lines


def _of(result: Result, folder: Path | None, base: Path) -> Iterator[str]:
    title = f"{result.skill} {result.tier.value} {result.id}"
    if not result.problems:
        place = result.suite or (str(folder / "SKILL.md") if folder else "")
        level = "error" if result.outcome in BAD else "warning"
        yield _line(level, _relative(place, base), None, title, result.message)
    for problem in result.problems:
        place = str(folder / problem.path) if folder and problem.path else result.suite
        level = "warning" if problem.warning else "error"
        yield _line(level, _relative(place, base), problem.line, title, problem.message)


def _line(level: str, path: str, line: int | None, title: str, message: str) -> str:
    place = [f"file={_property(path)}"] if path else []
    if line:
        place.append(f"line={line}")
    place.append(f"title={_property(title)}")
    return f"::{level} {','.join(place)}::{_data(message)}"


def _relative(path: str, base: Path) -> str:
    try:
        return real_path(Path(path)).relative_to(real_path(base)).as_posix() if path else ""
    except ValueError:
        return path


def _data(text: str) -> str:
    return escape_hidden(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
