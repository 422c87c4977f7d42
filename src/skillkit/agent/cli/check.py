"""`agent --check`: active and inactive skills, with reasons and remedies."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from skillkit.agent.cli import output
from skillkit.agent.cli.families import Result
from skillkit.agent.cli.overview import enabled_skills
from skillkit.core.grants import environment_problems
from skillkit.core.names import canonical_name
from skillkit.core.text import count_of
from skillkit.install.enabled import ActivationReport, EnabledSkills, SkillStatus
from skillkit.install.views import report_view
from skillkit.scripts.catalogue import find_scripts, missing_scripts
from skillkit.toolsets.loader import ToolsetLoader

if TYPE_CHECKING:
    from rich.text import Text


def check(*, json: bool = False) -> None:
    """Show the state of every skill; it does not affect the exit code."""
    enabled = enabled_skills()
    report = enabled.report()
    broken, collisions = load_failures(enabled, report)
    data = {**report_view(report), "load_failed": broken, "tool_collisions": collisions}
    Result(data, lambda: _show(report, broken, collisions)).end(json=json)


def _show(report: ActivationReport, broken: Mapping[str, str], collisions: Sequence[str]) -> None:
    output.say(f"Skills ({output.summary(report.selection.origin)}):")
    for status in report.skills:
        reason = broken.get(status.skill.name, "")
        failure = f"  ✗ {status.skill.name} (active) - Load failed: {reason}"
        output.line(output.shown(failure, "red") if reason else _line(status))
    for found in report.failed:
        folder = found.path.parent.name
        wanted = report.selection.mode.startswith("all") or canonical_name(folder) in report.selection.names
        state = "active" if wanted else "inactive"
        output.line(output.shown(f"  ✗ {folder} ({state}) - Load failed: {found.message}", "red"))
    if not report.skills and not report.failed:
        output.say("  none found")
    untrusted = sum(not status.trust.trusted for status in report.skills)
    output.say(
        f"{len(report.active) - len(broken)} active, {len(report.skills) - len(report.active)} inactive, "
        f"{len(report.failed) + len(broken)} failed, {untrusted} not trusted"
    )
    for problem in (*collisions, *environment_problems()):
        output.warn(problem)
    if report.hint:
        output.remark(output.summary(report.hint, 2000))


def load_failures(enabled: EnabledSkills, report: ActivationReport) -> tuple[dict[str, str], list[str]]:
    """Return load failures of active skills, and tools whose name is taken, by skill."""
    broken: dict[str, str] = {}
    active = {status.skill.name: status.skill for status in report.active}
    loaded = ToolsetLoader(enabled.manager).load()
    for error in loaded.errors:
        if error.skill_name in active:
            broken.setdefault(error.skill_name, str(error))
    for name, skill in active.items():
        if missing := missing_scripts(skill):
            broken.setdefault(name, f"the header names scripts that are not there: {', '.join(missing)}")
    return broken, list(loaded.collisions)


def _line(status: SkillStatus) -> "Text":
    commit = status.installed.commit_sha if status.installed else None
    mark, state, style = ("✓", "active", "green") if status.active else ("○", "inactive", "")
    if status.refusal is not None and status.refusal.code != "disabled":
        mark, state, style = "✗", status.refusal.code, "yellow"
    scripts, toolsets = len(find_scripts(status.skill)), len(status.skill.toolsets)
    counts = f"{count_of(scripts, 'script')}, {count_of(toolsets, 'toolset')}"
    trust = "trusted" if status.trust.trusted else f"untrusted: {status.trust.reason}"
    text = f"  {mark} {status.skill.name} ({state}) - {counts}"
    return output.shown(f"{text}{f' [{commit[:8]}]' if commit else ''} - {trust}", style)
