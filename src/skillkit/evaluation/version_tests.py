"""Test a version of a skill before it is installed, for the card that asks for consent."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from skillkit.evaluation.discovery import find_targets
from skillkit.evaluation.report import BAD, GOOD, Report, merge
from skillkit.evaluation.script_runs import sandboxed_scripts
from skillkit.evaluation.tester import SkillTester
from skillkit.install.fetch import LoadedSkill
from skillkit.install.tree import write_tree

MOST_FAILURES = 3


def notes_of_tests(plan: LoadedSkill) -> tuple[str, ...]:
    """Summarise the tests of the planned version in a few lines; its scripts run in the sandbox only."""
    with tempfile.TemporaryDirectory(prefix="skill-version-") as name:
        folder = Path(name) / plan.skill.name_canonical
        write_tree(plan.tree, folder)
        targets = find_targets([folder])
        scripts = sandboxed_scripts(targets.skills)
        tester = SkillTester(targets.skills, targets.suites, scripts=scripts, unloadable=targets.unloadable)
        report = merge(tester.run_static(), tester.run_routing())
        return tuple(_notes(merge(report, tester.run_scripts()[0])))


def _notes(report: Report) -> Iterator[str]:
    bad = [result for result in report.results if result.outcome in BAD]
    passed = sum(result.outcome in GOOD for result in report.results)
    yield f"tests of the new version: {passed} passed, {len(bad)} failed"
    for result in bad[:MOST_FAILURES]:
        yield f"failed: {result.tier.value} {result.id}: {result.message}"
