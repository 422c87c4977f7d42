"""Reports of tests on the screen."""

from typing import TYPE_CHECKING

from skillkit.agent.cli import output
from skillkit.core.codec import encode
from skillkit.core.text import count_of, escape_hidden
from skillkit.evaluation.report import BAD, CaseOutcome, Report, Tier, pass_rate

if TYPE_CHECKING:
    from skillkit.evaluation.discovery import FoundSuites
    from skillkit.evaluation.report import Comparison

_SHOWN = 20


def show_discovered(found: "FoundSuites", *, json: bool) -> None:
    if json:
        suites = [
            {**encode(suite, left_out=("cases", "parts")), "cases": len(suite.cases)}
            for suite in found.suites
        ]
        unreadable = [encode(each) for each in found.unreadable]
        output.print_json({"suites": suites, "unreadable": unreadable})
        return
    rows = [(suite.path, suite.format, suite.skill or "-", len(suite.cases)) for suite in found.suites]
    if rows:
        output.table(("File", "Format", "Skill", "Cases"), rows, flexible="File")
    else:
        output.remark("No files of cases found.")
    for suite in found.suites:
        for note in suite.notes:
            output.remark(escape_hidden(f"{suite.path}: {note}"))
    for each in found.unreadable:
        output.warn(f"{each.path} {each.reason}")


def show_report(found: Report) -> None:
    rows = []
    for tier in Tier:
        results = found.of(tier)
        if not results:
            continue
        counts = {each: sum(result.outcome is each for result in results) for each in CaseOutcome}
        rate = pass_rate(results)
        rows.append(
            (
                tier.value,
                len(results),
                counts[CaseOutcome.PASSED],
                counts[CaseOutcome.WARNED],
                counts[CaseOutcome.FAILED] + counts[CaseOutcome.ERROR],
                counts[CaseOutcome.NOT_JUDGED] + counts[CaseOutcome.SKIPPED],
                "-" if rate is None else f"{rate:.1%}",
            )
        )
    if rows:
        output.table(("Tier", "Cases", "Passed", "Warned", "Failed", "Open", "Rate"), rows, flexible="Tier")
    bad = [result for result in found.results if result.outcome in BAD]
    warned = [result for result in found.results if result.outcome is CaseOutcome.WARNED]
    for title, some in (("Failed", bad), ("Warned", warned)):
        if some:
            output.say(f"\n{title}")
            cells = [
                (f"{result.skill} {result.tier.value}", result.title or result.id, result.message)
                for result in some
            ]
            output.table(("Skill", "Case", "What happened"), cells[:_SHOWN], flexible="What happened")
            if len(cells) > _SHOWN:
                output.remark(f"… and {len(cells) - _SHOWN} more; --json has them all.")
    _show_routing(found)
    _show_behaviour(found)
    for note in found.notes:
        output.remark(escape_hidden(note))
    for problem in found.unreadable:
        output.warn(f"{problem.path} {problem.message}")
    if not found.results:
        output.warn("Nothing was tested: no cases of that kind.")
    if not bad and found.results and found.complete:
        output.say("\nNo failures.", "green")


def _show_routing(found: Report) -> None:
    measured = found.metrics.get("routing")
    if not isinstance(measured, dict):
        return

    def share(name: str) -> str:
        value = measured.get(name)
        return "-" if value is None else f"{value:.1%}"

    output.say()
    output.table(
        ("Routing", f"mode {measured['mode']}, {count_of(measured['library'], 'skill')}"),
        [
            ("precision", share("precision")),
            ("recall", share("recall")),
            ("recall@1", share("recall_at_1")),
            ("recall@3", share("recall_at_3")),
            ("false positives", share("false_positives")),
        ],
        flexible="Routing",
    )


def _figure(value: float | None, digits: int = 0) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def _show_behaviour(found: Report) -> None:
    measured = found.metrics.get("behaviour")
    if not isinstance(measured, dict):
        return
    rows = []
    for variant in ("with", "without"):
        if not any(result.data.get(variant) for result in found.of(Tier.BEHAVIOUR)):
            continue
        rate, interval = measured[f"{variant}_skill"], measured[f"{variant}_skill_interval"]
        shown = "-" if rate is None else f"{rate:.0%} ({interval[0]:.0%} to {interval[1]:.0%})"
        tokens, seconds = measured[f"{variant}_skill_tokens"], measured[f"{variant}_skill_seconds"]
        rows.append(
            (
                f"{variant} the skill",
                measured[f"{variant}_skill_runs"],
                shown,
                _figure(tokens),
                _figure(seconds, 1),
            )
        )
    output.say()
    output.table(("Behaviour", "Judged", "Passed", "Tokens", "Seconds"), rows, flexible="Behaviour")
    difference = measured["difference"]
    if difference is not None:
        low, high = difference["interval"]
        chance = "more than chance" if difference["more_than_chance"] else "could be chance"
        delta = f"{difference['delta']:+.0%} ({low:+.0%} to {high:+.0%})"
        output.say(f"The skill changes the pass rate by {delta}: {chance}.")
    if measured["flaky"]:
        output.say(escape_hidden(f"Flaky: {', '.join(measured['flaky'])}"), "yellow")
    if judge := measured.get("judge"):
        output.say(escape_hidden(f"Sentences were judged by {judge['model']}."))


def show_difference(difference: "Comparison") -> None:
    output.say()
    for label, results, style in (("worse", difference.worse, "red"), ("better", difference.better, "green")):
        for result in results:
            output.say(
                escape_hidden(f"{label}: {result.skill} {result.tier.value} {result.id} {result.message}"),
                style,
            )
    for text in difference.dropped:
        output.say(text, "red")
    if not difference.is_worse:
        output.say("No regressions.")
