"""Renderings of reports: JUnit XML, SARIF, annotations, HTML."""

import json
from pathlib import Path

from skillkit.evaluation.report import Report


def rendered(report: Report, form: str, base: Path) -> str:
    """Render a report as `github`, `junit` or `sarif`; paths are relative to `base`, the repository root."""
    if form == "github":
        from skillkit.evaluation.rendering.annotations import github_annotations

        return "".join(f"{line}\n" for line in github_annotations(report, base))
    if form == "junit":
        from skillkit.evaluation.rendering.junit import junit_xml

        return junit_xml(report)
    from skillkit.evaluation.rendering.annotations import sarif_log

    return json.dumps(sarif_log(report, base), indent=1, ensure_ascii=True) + "\n"
