"""Render a report as one self-contained HTML page without scripts."""

from collections.abc import Iterator, Mapping, Sequence

from skillkit.evaluation.report import BAD, CaseOutcome, Report, Result, Tier, pass_rate
from skillkit.web.charts import bar
from skillkit.web.html import Markup, table, tag

_STYLE = """
:root { color-scheme: light dark; --line: #8886; --good: #2a7f4f; --bad: #b3362b; --open: #8a6d1a; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .3rem .6rem;
border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: break-word; }
.passed { color: var(--good); } .failed, .error { color: var(--bad); }
.warned, .not-judged { color: var(--open); } .unseen { position: absolute; clip-path: inset(50%); }
pre { white-space: pre-wrap; overflow-wrap: anywhere; border-left: 3px solid var(--line); padding-left: 1em; }
.scroll { overflow-x: auto; } summary { cursor: pointer; } .part { fill: #3a8d8d; }
.row { display: grid; grid-template-columns: 10rem minmax(0, 20rem) auto; gap: .6rem; align-items: center; }
.bar { width: 100%; height: 1rem; }
"""
_VERDICTS = {None: "not judged", True: "passed", False: "failed"}


def html_page(report: Report) -> str:
    """Render the whole report: totals, plots, every case with its transcript."""
    tiers = [tier for tier in Tier if report.of(tier)]
    title = f"Tests of {', '.join(skill.name for skill in report.skills[:5]) or 'skills'}"
    head = (
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("style", Markup(_STYLE)),
    )
    lists = [
        [tag("h2", name), tag("ul", [tag("li", str(each)) for each in said])]
        for name, said in (("Not read", report.unreadable), ("Notes", report.notes))
        if said
    ]
    main = tag(
        "main",
        tag("h1", title),
        tag("p", f"{report.created}, {report.tool}"),
        _totals(report, tiers),
        list(_behaviour(report)),
        [_tier(report, tier) for tier in tiers],
        lists,
    )
    return f"<!doctype html>\n{tag('html', tag('head', head), tag('body', main), lang='en')}\n"


def _totals(report: Report, tiers: Sequence[Tier]) -> list[object]:
    rows = []
    for tier in tiers:
        results = report.of(tier)
        counts = [sum(result.outcome is outcome for result in results) for outcome in CaseOutcome]
        rate = pass_rate(results)
        rows.append((tier.value, len(results), *counts, "-" if rate is None else f"{rate:.1%}"))
    heads = ("tier", "cases", *(outcome.value for outcome in CaseOutcome), "pass rate")
    bars = [(tier.value, pass_rate(report.of(tier)) or 0.0, "") for tier in tiers]
    return [tag("h2", "Totals"), table(heads, rows, "totals"), *_plot("Pass rate", bars, 1.0)]


def _behaviour(report: Report) -> Iterator[Markup]:
    measured = report.metrics.get(Tier.BEHAVIOUR.value)
    if not isinstance(measured, Mapping):
        return
    yield tag("h2", "With and without")
    for title, key, unit in (
        ("Pass rate with and without the skill", "", ""),
        ("Tokens a run", "_tokens", " tokens"),
        ("Seconds a run", "_seconds", " s"),
    ):
        found = [
            (f"{variant} the skill", measured.get(f"{variant}_skill{key}")) for variant in ("with", "without")
        ]
        numbers = [(name, float(value), unit) for name, value in found if isinstance(value, int | float)]
        top = 1.0 if not key else max((value for _, value, _ in numbers), default=1.0) or 1.0
        yield from _plot(title, numbers, top)
    difference = measured.get("difference")
    if isinstance(difference, Mapping):
        low, high = difference["interval"]
        surely = "more than chance" if difference["more_than_chance"] else "could be chance"
        yield tag("p", f"Difference {difference['delta']:+.0%} ({low:+.0%} to {high:+.0%}): {surely}.")
    if flaky := measured.get("flaky"):
        yield tag("p", f"Flaky, passed only sometimes: {', '.join(map(str, flaky))}.")
    if isinstance(judge := measured.get("judge"), Mapping):
        yield tag("p", f"Sentences were judged by {judge['model']}.")


def _tier(report: Report, tier: Tier) -> list[Markup]:
    results = sorted(report.of(tier), key=lambda result: (result.outcome not in BAD, result.skill))
    return [tag("h2", tier.value), *map(_result, results)]


def _result(result: Result) -> Markup:
    outcome = result.outcome.value
    title = f" {result.skill}: {result.title or result.id}"
    problems = [tag("li", str(problem)) for problem in result.further_problems]
    return tag(
        "details",
        tag("summary", tag("span", outcome, class_=outcome), title),
        tag("p", result.message),
        problems and tag("ul", problems),
        list(_details(result)),
        open=result.outcome in BAD,
    )


def _details(result: Result) -> Iterator[Markup]:
    if isinstance(request := result.data.get("request"), str):
        yield tag("pre", request)
    prompts = result.data.get("prompts")
    for prompt in prompts if isinstance(prompts, list) else ():
        yield from (tag("p", "Asked:"), tag("pre", str(prompt)))
    found = result.data.get("found")
    if isinstance(found, list):
        rows = [(each["skill"], f"{each['score']:.2f}", "; ".join(each["reasons"])) for each in found]
        yield table(("skill", "score", "why"), rows, "matches")
    for variant in ("with", "without"):
        runs = result.data.get(variant)
        for number, run in enumerate(runs if isinstance(runs, list) else (), 1):
            yield _transcript(f"{variant} the skill, run {number}", run)


def _transcript(title: str, run: Mapping[str, object]) -> Markup:
    calls, grades = run.get("calls"), run.get("grades")
    lines = [
        f"→ {call['name']} {call['arguments']}\n{call['result']}"
        for call in (calls if isinstance(calls, list) else ())
    ]
    rows = [
        (each["text"], each["compiled"] or each["kind"], _VERDICTS[each["passed"]], each["evidence"])
        for each in (grades if isinstance(grades, list) else ())
    ]
    said = "\n\n".join([*lines, str(run.get("answer", "")), str(run.get("error", ""))]).strip()
    checks = table(("check", "compiled", "verdict", "evidence"), rows, "checks")
    return tag("details", tag("summary", title), tag("pre", said), checks)


def _plot(title: str, bars: Sequence[tuple[str, float, str]], top: float) -> Iterator[Markup]:
    """Yield a heading and a horizontal bar for each value; nothing without values."""
    if bars:
        yield tag("h3", title)
    for name, value, unit in bars:
        shown = f"{value:.1%}" if top == 1.0 and not unit else f"{value:,.1f}{unit}"
        yield tag("div", tag("span", name), bar([(name, value)], top, name), tag("span", shown), class_="row")
