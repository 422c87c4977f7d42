"""Tests of skills: routing, scripts and behaviour, with and without the skill."""

from typing import TYPE_CHECKING

from skillkit.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from skillkit.evaluation.cases import Case, Check, CheckKind, Routing, ScriptCall, Suite, Unreadable
    from skillkit.evaluation.comparison import Comparison, compare
    from skillkit.evaluation.discovery import FoundSuites, find_suites
    from skillkit.evaluation.formats import read_cases_file
    from skillkit.evaluation.report import CaseOutcome, Problem, Report, Result, Tier
    from skillkit.evaluation.targets import Targets, find_targets
    from skillkit.evaluation.tester import SkillTester, skills_in

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
        "comparison": "Comparison compare",
        "discovery": "FoundSuites find_suites",
        "formats": "read_cases_file",
        "report": "CaseOutcome Problem Report Result Tier",
        "targets": "Targets find_targets",
        "tester": "SkillTester skills_in",
    },
)
