"""How good and how dear: eval, cost."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skillkit.agent.cli import output
from skillkit.agent.cli.options import Folders, Json, MatchingMode, complete_found, examples
from skillkit.agent.cli.overview import enabled_skills
from skillkit.agent.cli.progress import Progress
from skillkit.agent.cli.skill.finding import matcher_of, remembered
from skillkit.core.text import one_line

if TYPE_CHECKING:
    from skillkit.disclosure.cost import CostReport
    from skillkit.matching.evaluation import Evaluation

_SHOWN = 20
_BAR = 24


def register(app: typer.Typer) -> None:
    app.command(
        "eval",
        short_help="Ask requests with known answers, and show what goes wrong.",
        epilog=examples(
            "agent skill eval trigger-cases.json --skill csv-report",
            "agent skill eval queries.jsonl --in ./my-skills --mode hybrid --json",
        ),
    )(evaluate)
    app.command(
        "cost",
        short_help="Show what skills cost in tokens, and what is saved.",
        epilog=examples(
            "agent skill cost", "agent skill cost --budget 1000 --active", "agent skill cost --json"
        ),
    )(cost)


def evaluate(
    file: Annotated[
        Path,
        typer.Argument(
            exists=True,
            dir_okay=False,
            help='Cases: [{"query", "should_trigger"}] about one skill, or lines of '
            '{"query", "relevant", "negative_for"}.',
            show_default=False,
        ),
    ],
    skill: Annotated[
        str | None,
        typer.Option(
            "--skill",
            help="The skill that should_trigger is about; the folder's own if the file lies in a skill.",
            autocompletion=complete_found,
            show_default=False,
        ),
    ] = None,
    folders: Folders = None,
    mode: MatchingMode = None,
    json: Json = False,
) -> None:
    """Ask requests whose right answer is known, and show what goes wrong."""
    from skillkit.matching.evaluation import evaluate as measure
    from skillkit.matching.evaluation import read_cases

    enabled = remembered(folders or ())
    about = skill or _skill_around(file)
    if about is not None:
        about = enabled.manager.get_skill(about).canonical_name
    cases = read_cases(file, about)
    with Progress() as progress:
        progress(f"Asking {len(cases)} requests")
        result = measure(matcher_of(enabled, mode), cases)
    if json:
        output.print_json(result.as_dict())
        return
    _show_evaluation(result)


def cost(
    budget: Annotated[int, typer.Option("--budget", min=1, help="Tokens the catalogue may take.")] = 2000,
    active: Annotated[
        bool, typer.Option("--active", help="Only the skills that are active now, not all that are found.")
    ] = False,
    exact: Annotated[
        bool, typer.Option("--exact", help="Count with a tokenizer instead of estimating (extra `tokens`).")
    ] = False,
    folders: Folders = None,
    json: Json = False,
) -> None:
    """Show what each skill costs in tokens, tier by tier, and what progressive disclosure saves."""
    from skillkit.disclosure.cost import cost_report
    from skillkit.disclosure.tokens import EncodingCounter, TokenCounter, TokenEstimator
    from skillkit.install.selection import Selection

    enabled = enabled_skills(folders or (), selection=None if active else Selection("all-untrusted"))
    counter: TokenCounter = EncodingCounter.named() if exact else TokenEstimator()
    with Progress() as progress:
        progress("Counting tokens")
        report = cost_report(enabled.manager, budget=budget, counter=counter)
    if json:
        output.print_json(report.to_data())
        return
    _show_cost(report)


def _skill_around(file: Path) -> str | None:
    """The skill whose folder a file of cases lies in, such as `my-skill/evals/triggers.json`."""
    for folder in file.resolve().parents:
        if (folder / "SKILL.md").is_file():
            return folder.name
    return None


def _show_evaluation(result: "Evaluation") -> None:
    def share(value: float | None) -> str:
        return "-" if value is None else f"{value:.1%}"

    rows = [
        ("requests", result.cases),
        ("recall@1", share(result.recall_at_1)),
        ("recall@3", share(result.recall_at_3)),
        ("mean reciprocal rank", "-" if result.mrr is None else f"{result.mrr:.3f}"),
        (f"matched at {result.threshold:.2f}", share(result.matched)),
        ("false positives", share(result.false_positives)),
    ]
    output.table(("Measure", f"Mode {result.mode}"), rows, flexible=f"Mode {result.mode}")
    if not result.confusions:
        output.say("\nEvery request was answered as it should be.")
        return
    output.say("\nConfusions")
    shown = result.confusions[:_SHOWN]
    output.table(
        ("Problem", "Request", "Expected", "Found"),
        [
            (
                confusion.problem,
                output.summary(confusion.query, 100),
                ", ".join(confusion.expected) or "nothing",
                f"{', '.join(confusion.found[:3])} ({confusion.score:.2f})" if confusion.found else "nothing",
            )
            for confusion in shown
        ],
        flexible="Request",
    )
    if len(result.confusions) > _SHOWN:
        output.remark(f"… and {len(result.confusions) - _SHOWN} more; --json has them all.")


def _show_cost(report: "CostReport") -> None:
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
    output.table(
        ("Skill", "Tier 1", "Tier 2", "Tier 3", "Instructions"),
        rows,
        flexible="Instructions",
    )
    left = f", {report.unlisted} left to search_skills" if report.unlisted else ""
    output.say()
    output.table(
        ("Every request pays", "Tokens", ""),
        [
            (
                one_line(f"catalogue of {report.listed} skills{left} (budget {report.budget:,})"),
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
