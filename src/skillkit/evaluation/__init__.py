"""Tests of skills: routing, scripts and behaviour, with and without the skill."""

from typing import TYPE_CHECKING

from skillkit.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from skillkit.evaluation.cases import Case, Check, CheckKind, Routing, ScriptCall, Suite, Unreadable
    from skillkit.evaluation.discovery import FoundSuites, Targets, find_suites, find_targets, skills_in
    from skillkit.evaluation.formats import read_cases_file
    from skillkit.evaluation.report import CaseOutcome, Comparison, Problem, Report, Result, Tier, compare
    from skillkit.evaluation.tester import SkillTester

__all__ = [
    "Case",
    "CaseOutcome",
    "Check",
    "CheckKind",
    "Comparison",
    "FoundSuites",
    "Problem",
    "Report",
    "Result",
    "Routing",
    "ScriptCall",
    "SkillTester",
    "Suite",
    "Targets",
    "Tier",
    "Unreadable",
    "compare",
    "find_suites",
    "find_targets",
    "read_cases_file",
    "skills_in",
]

__getattr__ = lazy_names(
    __name__,
    {
        "cases": "Case Check CheckKind Routing ScriptCall Suite Unreadable",
        "discovery": "FoundSuites Targets find_suites find_targets skills_in",
        "formats": "read_cases_file",
        "report": "CaseOutcome Comparison Problem Report Result Tier compare",
        "tester": "SkillTester",
    },
)
