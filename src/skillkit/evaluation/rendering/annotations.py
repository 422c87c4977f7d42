"""Render the problems of a report with their places: annotations of GitHub, and SARIF 2.1.0."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from skillkit.core.disk import real_path
from skillkit.core.text import escape_hidden
from skillkit.evaluation.report import BAD, CaseOutcome, Report, Result

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def github_annotations(report: Report, base: Path) -> list[str]:
    """Return `::error` and `::warning` lines with paths relative to `base`, the repository root."""
    return [
        _line(
            "error" if is_error else "warning",
            path,
            line,
            f"{result.skill} {result.tier.value} {result.id}",
            message,
        )
        for result, is_error, path, line, message in _located(report, base)
    ]


def _line(level: str, path: str, line: int | None, title: str, message: str) -> str:
    place = [f"file={_property(path)}"] if path else []
    if line:
        place.append(f"line={line}")
    place.append(f"title={_property(title)}")
    return f"::{level} {','.join(place)}::{_data(message)}"


def _data(text: str) -> str:
    return escape_hidden(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def sarif_log(report: Report, base: Path) -> dict[str, object]:
    """Return the problems of a report; paths are relative to `base`, the repository root."""
    name, _, version = report.tool.partition(" ")
    found = [
        {
            "ruleId": f"{result.tier.value}/{result.id}",
            "level": "error" if is_error else "warning",
            "message": {"text": escape_hidden(f"{result.skill}: {message}")},
            "locations": [_location(path, line)] if path else [],
        }
        for result, is_error, path, line, message in _located(report, base)
    ]
    rules = [{"id": rule} for rule in dict.fromkeys(str(each["ruleId"]) for each in found)]
    driver = {"name": name or "skillkit", "version": version or "0", "rules": rules}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": found}]}


def _location(path: str, line: int | None) -> dict[str, object]:
    uri = Path(path).as_uri() if Path(path).is_absolute() else quote(path)
    place: dict[str, object] = {"artifactLocation": {"uri": uri}}
    if line:
        place["region"] = {"startLine": line}
    return {"physicalLocation": place}


class _Located(NamedTuple):
    """One problem of a result, with its location."""

    result: Result
    is_error: bool
    path: str
    """Relative to the repository root if inside it; may be empty."""
    line: int | None
    message: str


def _located(report: Report, base: Path) -> Iterator[_Located]:
    """Yield failures and warnings, with paths relative to `base`."""
    folders = {skill.name: Path(skill.path) for skill in report.skills}
    for result in report.results:
        if result.outcome in BAD or result.outcome is CaseOutcome.WARNED:
            yield from _located_in(result, folders.get(result.skill), base)


def _located_in(result: Result, folder: Path | None, base: Path) -> Iterator[_Located]:
    if not result.problems:
        place = result.suite or (str(folder / "SKILL.md") if folder else "")
        yield _Located(result, result.outcome in BAD, _relative(place, base), None, result.message)
    for problem in result.problems:
        place = str(folder / problem.path) if folder and problem.path else result.suite
        yield _Located(result, not problem.warning, _relative(place, base), problem.line, problem.message)


def _relative(path: str, base: Path) -> str:
    try:
        return real_path(Path(path)).relative_to(real_path(base)).as_posix() if path else ""
    except ValueError:
        return path
