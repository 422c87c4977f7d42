"""Render a report as JUnit XML, which CI services display."""

import re
from xml.etree import ElementTree

from skillkit.evaluation.report import BAD, CaseOutcome, Report, Result, Tier

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


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


_SKIPPED = frozenset({CaseOutcome.SKIPPED, CaseOutcome.NOT_JUDGED})


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
