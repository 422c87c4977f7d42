"""Render a report as one self-contained HTML page without scripts."""

from collections.abc import Mapping, Sequence
from html import escape

from skillkit.core.text import escape_hidden
from skillkit.evaluation.report import BAD, CaseOutcome, Report, Result, Tier, pass_rate

_STYLE = """
:root { color-scheme: light dark; --line: #8886; --good: #2a7f4f; --bad: #b3362b; --open: #8a6d1a; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .3rem .6rem;
border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere; }
.passed { color: var(--good); } .failed, .error { color: var(--bad); }
.warned, .not-judged { color: var(--open); }
pre { white-space: pre-wrap; overflow-wrap: anywhere; border-left: 3px solid var(--line); padding-left: 1em; }
svg { width: 100%; max-width: 560px; } .scroll { overflow-x: auto; }
svg text { font: 12px system-ui, sans-serif; fill: currentColor; } summary { cursor: pointer; }
"""
_BAR_WIDTH = 320
_VERDICTS = {None: "not judged", True: "passed", False: "failed"}


def html_page(report: Report) -> str:
    """Render the whole report: totals, plots, every case with its transcript."""
    tiers = [tier for tier in Tier if report.of(tier)]
    parts = [_totals(report, tiers), _behaviour(report)]
    parts += [_tier(report, tier) for tier in tiers]
    for title, said in (("Not read", report.unreadable), ("Notes", report.notes)):
        if said:
            items = "".join(f"<li>{_text(each)}</li>" for each in said)
            parts.append(f"<h2>{title}</h2><ul>{items}</ul>")
    names = ", ".join(skill.name for skill in report.skills[:5]) or "skills"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Tests of {_text(names)}</title><style>{_STYLE}</style></head><body><main>"
        f"<h1>Tests of {_text(names)}</h1><p>{_text(report.created)}, {_text(report.tool)}</p>"
        + "".join(parts)
        + "</main></body></html>\n"
    )


def _totals(report: Report, tiers: Sequence[Tier]) -> str:
    rows = []
    for tier in tiers:
        results = report.of(tier)
        counts = [sum(result.outcome is outcome for result in results) for outcome in CaseOutcome]
        rate = pass_rate(results)
        rows.append((tier.value, len(results), *counts, "-" if rate is None else f"{rate:.1%}"))
    heads = ("tier", "cases", *(outcome.value for outcome in CaseOutcome), "pass rate")
    bars = [(tier.value, pass_rate(report.of(tier)) or 0.0, "") for tier in tiers]
    return "<h2>Totals</h2>" + _table(heads, rows) + _plot("Pass rate", bars, 1.0)


def _behaviour(report: Report) -> str:
    measured = report.metrics.get(Tier.BEHAVIOUR.value)
    if not isinstance(measured, Mapping):
        return ""
    plots = []
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
        plots.append(_plot(title, numbers, top))
    difference = measured.get("difference")
    if isinstance(difference, Mapping):
        low, high = difference["interval"]
        surely = "more than chance" if difference["more_than_chance"] else "could be chance"
        plots.append(f"<p>Difference {difference['delta']:+.0%} ({low:+.0%} to {high:+.0%}): {surely}.</p>")
    if flaky := measured.get("flaky"):
        plots.append(f"<p>Flaky, passed only sometimes: {_text(', '.join(map(str, flaky)))}.</p>")
    return "<h2>With and without</h2>" + "".join(plots) + _judge(measured.get("judge"))


def _judge(judge: object) -> str:
    return f"<p>Sentences were judged by {_text(judge['model'])}.</p>" if isinstance(judge, Mapping) else ""


def _tier(report: Report, tier: Tier) -> str:
    results = sorted(report.of(tier), key=lambda result: (result.outcome not in BAD, result.skill))
    return f"<h2>{tier.value}</h2>" + "".join(_result(result) for result in results)


def _result(result: Result) -> str:
    title = f"{result.skill}: {result.title or result.id}"
    body = "".join(f"<li>{_text(problem)}</li>" for problem in result.further_problems)
    opened = " open" if result.outcome in BAD else ""
    return (
        f'<details{opened}><summary><span class="{result.outcome.value}">{result.outcome.value}</span> '
        f"{_text(title)}</summary><p>{_text(result.message)}</p>{f'<ul>{body}</ul>' if body else ''}"
        f"{_details(result)}</details>"
    )


def _details(result: Result) -> str:
    parts = []
    if isinstance(request := result.data.get("request"), str):
        parts.append(f"<pre>{_text(request)}</pre>")
    prompts = result.data.get("prompts")
    if isinstance(prompts, list):
        parts.extend(f"<p>Asked:</p><pre>{_text(prompt)}</pre>" for prompt in prompts)
    found = result.data.get("found")
    if isinstance(found, list):
        rows = [(each["skill"], f"{each['score']:.2f}", "; ".join(each["reasons"])) for each in found]
        parts.append(_table(("skill", "score", "why"), rows))
    for variant in ("with", "without"):
        runs = result.data.get(variant)
        for number, run in enumerate(runs if isinstance(runs, list) else (), 1):
            parts.append(_transcript(f"{variant} the skill, run {number}", run))
    return "".join(parts)


def _transcript(title: str, run: Mapping[str, object]) -> str:
    calls = run.get("calls")
    lines = [
        f"→ {call['name']} {call['arguments']}\n{call['result']}"
        for call in (calls if isinstance(calls, list) else ())
    ]
    grades = run.get("grades")
    rows = [
        (each["text"], each["compiled"] or each["kind"], _VERDICTS[each["passed"]], each["evidence"])
        for each in (grades if isinstance(grades, list) else ())
    ]
    said = "\n\n".join([*lines, str(run.get("answer", "")), str(run.get("error", ""))]).strip()
    return f"<details><summary>{_text(title)}</summary><pre>{_text(said)}</pre>" + (
        _table(("check", "compiled", "verdict", "evidence"), rows) + "</details>"
    )


def _plot(title: str, bars: Sequence[tuple[str, float, str]], top: float) -> str:
    """Render horizontal bars as SVG."""
    if not bars:
        return ""
    rows = []
    for number, (name, value, unit) in enumerate(bars):
        y = number * 26
        width = round(_BAR_WIDTH * min(1.0, value / top))
        shown = f"{value:.1%}" if top == 1.0 and not unit else f"{value:,.1f}{unit}"
        rows.append(
            f'<text x="0" y="{y + 16}">{_text(name)}</text>'
            f'<rect x="150" y="{y + 4}" width="{width}" height="16" fill="#3a8d8d"/>'
            f'<text x="{158 + width}" y="{y + 16}">{shown}</text>'
        )
    label = ", ".join(f"{name} {value:.2f}{unit}" for name, value, unit in bars)
    return (
        f'<h3>{_text(title)}</h3><svg role="img" aria-label="{_text(label)}" '
        f'viewBox="0 0 560 {len(bars) * 26 + 8}">{"".join(rows)}</svg>'
    )


def _table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    head = "".join(f"<th>{_text(cell)}</th>" for cell in heads)
    body = "".join("<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        '<div class="scroll" tabindex="0" role="group" aria-label="table"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _text(value: object) -> str:
    """Escape third-party text for HTML, with its line breaks."""
    return escape("\n".join(escape_hidden(line) for line in str(value).split("\n")), quote=True)
