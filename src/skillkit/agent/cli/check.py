"""`agent --check`: what is active, what is not and why, and how to change that."""

from typing import TYPE_CHECKING

from skillkit.agent.cli import output
from skillkit.agent.cli.overview import enabled_skills
from skillkit.install.enabled import SkillStatus
from skillkit.install.views import report_view
from skillkit.scripts.catalogue import find_scripts

if TYPE_CHECKING:
    from rich.text import Text


def check(*, json: bool = False) -> None:
    """Show the state of every skill. It tells and does not judge: there is no exit code for it."""
    report = enabled_skills().report()
    if json:
        output.print_json(report_view(report))
        return
    output.say(f"Skills (AGENT_SKILLS={output.summary(str(report.selection))}):")
    for status in report.skills:
        output.line(_line(status))
    for found in report.failed:
        folder = found.path.parent.name
        output.line(output.shown(f"  ✗ {folder} - Load failed: {found.message}", "red"))
    if not report.skills and not report.failed:
        output.say("  none found")
    untrusted = sum(not status.standing.trusted for status in report.skills)
    output.say(
        f"{len(report.active)} active, {len(report.skills) - len(report.active)} inactive, "
        f"{len(report.failed)} failed, {untrusted} not trusted"
    )
    if report.hint:
        output.remark(output.summary(report.hint, 2000))


def _line(status: SkillStatus) -> "Text":
    commit = status.installed.commit_sha if status.installed else None
    mark, state, style = ("✓", "active", "green") if status.active else ("○", "inactive", "")
    if status.refusal is not None and status.refusal.code != "disabled":
        mark, state, style = "✗", status.refusal.code, "yellow"
    scripts, toolsets = len(find_scripts(status.skill)), len(status.skill.toolsets)
    counts = f"{output.count(scripts, 'script')}, {output.count(toolsets, 'toolset')}"
    trust = "trusted" if status.standing.trusted else f"untrusted: {status.standing.reason}"
    text = f"  {mark} {status.skill.name} ({state}) - {counts}"
    return output.shown(f"{text}{f' [{commit[:8]}]' if commit else ''} - {trust}", style)
