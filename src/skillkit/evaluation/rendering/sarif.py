"""Render a report as SARIF 2.1.0 for GitHub code scanning and editors."""

from pathlib import Path

from skillkit.core.text import escape_hidden
from skillkit.evaluation.rendering.places import problems_with_places
from skillkit.evaluation.report import Report

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


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
        for result, is_error, path, line, message in problems_with_places(report, base)
    ]
    rules = [{"id": rule} for rule in dict.fromkeys(str(each["ruleId"]) for each in found)]
    driver = {"name": name or "skillkit", "version": version or "0", "rules": rules}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": found}]}


def _location(path: str, line: int | None) -> dict[str, object]:
    place: dict[str, object] = {"artifactLocation": {"uri": Path(path).as_posix()}}
    if line:
        place["region"] = {"startLine": line}
    return {"physicalLocation": place}
