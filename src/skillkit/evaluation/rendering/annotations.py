"""Render a report as annotations that GitHub shows beside the code."""

from pathlib import Path

from skillkit.core.text import escape_hidden
from skillkit.evaluation.rendering.places import problems_with_places
from skillkit.evaluation.report import Report


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
        for result, is_error, path, line, message in problems_with_places(report, base)
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
