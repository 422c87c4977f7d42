"""Renderings of reports for CI services: annotations of GitHub, SARIF 2.1.0, JUnit XML."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

from skillkit.core.disk import real_path
from skillkit.core.text import escape_hidden
from skillkit.evaluation.report import BAD, CaseOutcome, Problem, Report, Result, Tier

_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SKIPPED = frozenset({CaseOutcome.SKIPPED, CaseOutcome.NOT_JUDGED})


def rendered(report: Report, form: str, base: Path) -> str:
    """Render a report as `github`, `junit` or `sarif`; paths are relative to `base`, the repository root."""
    if form == "github":
        return "".join(f"{line}\n" for line in github_annotations(report, base))
    if form == "junit":
        return junit_xml(report)
    return json.dumps(sarif_log(report, base), indent=1, ensure_ascii=True) + "\n"


def github_annotations(report: Report, base: Path) -> list[str]:
    """Return `::error` and `::warning` lines with paths relative to `base`, the repository root."""
    return [_annotation(result, problem) for result, problem in _located(report, base)]


def _annotation(result: Result, problem: Problem) -> str:
    place = [f"file={_property(problem.path)}"] if problem.path else []
    if problem.line:
        place.append(f"line={problem.line}")
    place.append(f"title={_property(f'{result.skill} {result.tier.value} {result.id}')}")
    return f"::{_level(problem)} {','.join(place)}::{_data(problem.message)}"


def _level(problem: Problem) -> str:
    return "warning" if problem.warning else "error"


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
            "level": _level(problem),
            "message": {"text": escape_hidden(f"{result.skill}: {problem.message}")},
            "locations": [_location(problem)] if problem.path else [],
        }
        for result, problem in _located(report, base)
    ]
    rules = [{"id": rule} for rule in dict.fromkeys(str(each["ruleId"]) for each in found)]
    driver = {"name": name or "skillkit", "version": version or "0", "rules": rules}
    return {"$schema": _SARIF, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": found}]}


def _location(problem: Problem) -> dict[str, object]:
    uri = Path(problem.path).as_uri() if Path(problem.path).is_absolute() else quote(problem.path)
    place: dict[str, object] = {"artifactLocation": {"uri": uri}}
    if problem.line:
        place["region"] = {"startLine": problem.line}
    return {"physicalLocation": place}


def _located(report: Report, base: Path) -> Iterator[tuple[Result, Problem]]:
    """Yield the problems of failures and warnings, with paths relative to `base` if inside it."""
    folders = {skill.name: Path(skill.path) for skill in report.skills}
    for result in report.results:
        if result.outcome not in BAD and result.outcome is not CaseOutcome.WARNED:
            continue
        folder = folders.get(result.skill)
        if not result.problems:
            place = result.suite or (str(folder / "SKILL.md") if folder else "")
            warning = result.outcome is CaseOutcome.WARNED
            yield result, Problem(result.message, _relative(place, base), warning=warning)
        for problem in result.problems:
            place = str(folder / problem.path) if folder and problem.path else result.suite
            yield result, replace(problem, path=_relative(place, base))


def _relative(path: str, base: Path) -> str:
    try:
        return real_path(Path(path)).relative_to(real_path(base)).as_posix() if path else ""
    except ValueError:
        return path


def junit_xml(report: Report) -> str:
    """Return one suite per tier and skill, with one test case per result."""
    top = ElementTree.Element("testsuites", name="skills")
    groups: dict[tuple[str, Tier], list[Result]] = {}
    for result in report.results:
        groups.setdefault((result.skill, result.tier), []).append(result)
    for (skill, tier), results in groups.items():
        suite = ElementTree.SubElement(
            top,
            "testsuite",
            name=_clean(f"{skill}.{tier.value}"),
            tests=str(len(results)),
            failures=str(sum(result.outcome is CaseOutcome.FAILED for result in results)),
            errors=str(sum(result.outcome is CaseOutcome.ERROR for result in results)),
            skipped=str(sum(result.outcome in _SKIPPED for result in results)),
            time=f"{sum(result.seconds for result in results):.3f}",
        )
        for result in results:
            _add(suite, result)
    ElementTree.indent(top)
    return ElementTree.tostring(top, encoding="unicode", xml_declaration=True) + "\n"


def _add(suite: ElementTree.Element, result: Result) -> None:
    case = ElementTree.SubElement(
        suite,
        "testcase",
        classname=_clean(f"{result.skill}.{result.tier.value}"),
        name=_clean(result.id if result.title in ("", result.id) else f"{result.id}: {result.title}"),
        time=f"{result.seconds:.3f}",
    )
    details = "\n".join(str(problem) for problem in result.problems) or result.message
    if result.outcome in BAD:
        tag = "error" if result.outcome is CaseOutcome.ERROR else "failure"
        ElementTree.SubElement(case, tag, message=_clean(result.message)).text = _clean(details)
    elif result.outcome in _SKIPPED:
        ElementTree.SubElement(case, "skipped", message=_clean(result.message or result.outcome.value))
    elif result.outcome is CaseOutcome.WARNED:
        ElementTree.SubElement(case, "system-out").text = _clean(f"warning: {details}")


def _clean(text: str) -> str:
    """Remove the characters that XML cannot contain."""
    return _NOT_XML.sub("�", text)
