"""`agent skill cost`."""

from typing import Annotated

import typer

from skillkit.agent.cli import output
from skillkit.agent.cli.families import Family, Result
from skillkit.agent.cli.options import Folders, examples
from skillkit.agent.cli.overview import enabled_skills
from skillkit.agent.cli.progress import Progress
from skillkit.core.text import count_of, one_line
from skillkit.disclosure.cost import CostReport, cost_report
from skillkit.disclosure.tokens import EncodingCounter, TokenCounter, TokenEstimator
from skillkit.install.selection import Selection

app = Family()

_BAR = 24


@app.command(
    "cost",
    short_help="Show the token cost of skills, and the savings.",
    epilog=examples("agent skill cost", "agent skill cost --budget 1000 --active", "agent skill cost --json"),
)
def cost(
    budget: Annotated[int, typer.Option(min=1, help="Token budget of the catalogue.")] = 300,
    active: Annotated[bool, typer.Option("--active", help="Count active skills only.")] = False,
    exact: Annotated[
        bool, typer.Option("--exact", help="Count with a tokenizer instead of estimating (extra `tokens`).")
    ] = False,
    folders: Folders = None,
) -> Result:
    """Show what each skill costs in tokens, tier by tier, and what progressive disclosure saves."""
    enabled = enabled_skills(folders or (), selection=None if active else Selection("all-untrusted"))
    counter: TokenCounter = EncodingCounter.named() if exact else TokenEstimator()
    with Progress() as progress:
        progress("Counting tokens")
        report = cost_report(enabled.manager, budget=budget, counter=counter)
    return Result(report.to_data(), lambda: _show_cost(report))


def _show_cost(report: CostReport) -> None:
    if not report.skills:
        output.remark("No skills found. Name a folder with --in PATH.")
        return
    largest = max(skill.tier2 or 0 for skill in report.skills) or 1
    rows = [
        (
            skill.id if skill.offered else f"{skill.id} (not offered)",
            skill.tier1,
            "unreadable" if skill.tier2 is None else f"{skill.tier2:,}",
            f"{skill.tier3:,}" if skill.files else "-",
            "█" * round(_BAR * (skill.tier2 or 0) / largest) or "▏",
        )
        for skill in report.skills
    ]
    output.table(("Skill", "Tier 1", "Tier 2", "Tier 3", "Instructions"), rows, flexible="Instructions")
    left = f", {report.unlisted} left to search_skills" if report.unlisted else ""
    output.say()
    output.table(
        ("Every request pays", "Tokens", ""),
        [
            (
                one_line(f"catalogue of {count_of(report.listed, 'skill')}{left} (budget {report.budget:,})"),
                f"{report.catalogue:,}",
                _bar(report.catalogue, report.static),
            ),
            ("all instructions, without skillkit", f"{report.static:,}", _bar(report.static, report.static)),
        ],
        flexible="",
    )
    counted = "estimated" if report.counter == "estimate" else f"counted with {report.counter}"
    output.say(f"Saved: {report.saved:.0%} of the prompt when no skill is needed ({counted}).")


def _bar(part: int, whole: int) -> str:
    return "█" * max(1, round(_BAR * part / max(whole, part, 1)))
