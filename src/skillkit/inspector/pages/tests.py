"""Results of tests of skills: over time, one run with what changed since the one before, whole reports."""

import json
from collections.abc import Mapping, Sequence
from datetime import date

from skillkit.core.events import Event, Json
from skillkit.evaluation.html_page import html_page
from skillkit.evaluation.report import BAD, Report, Result, compare
from skillkit.inspector.layout import page, skill_link
from skillkit.inspector.library import Library
from skillkit.inspector.pages.events import figure, short_day
from skillkit.journal import EventFilter, Kind
from skillkit.journal.reading import StoredEvent
from skillkit.web.charts import Column, columns
from skillkit.web.html import Markup, link, table, tag
from skillkit.web.layout import badge, command, facts, legend, local_time, nothing, section

MAX_CASES = 500
MAX_RUNS = 30
"""In the chart of a skill's tests over time."""
_BADGES = {"passed": "good", "failed": "bad", "error": "bad", "warned": "warn"}


def show(library: Library) -> str:
    """Return the runs of `agent skill test` that the journal knows, each beside the one before."""
    events = library.newest(Kind.TESTED, limit=MAX_CASES)
    if not events:
        empty = nothing("No skill was tested yet. Test one with ", tag("code", "agent skill test NAME"))
        return page("Tests", "/tests", empty, live=True)
    listed = tag("div", over_time(events), runs_table(events), id="list", data_follow=True)
    return page("Tests", "/tests", listed, live=True)


def over_time(events: Sequence[StoredEvent]) -> Markup | None:
    """Return passed and failed cases of the newest runs, the oldest of them first."""
    entries = []
    for stored in reversed(events[:MAX_RUNS]):
        passed, failed = stored.event.data.get("passed"), stored.event.data.get("failed")
        parts = [
            (kind, float(size) if isinstance(size, int) else 0.0)
            for kind, size in (("passed", passed), ("failed", failed))
        ]
        day = short_day(date.fromtimestamp(stored.event.time))
        entries.append(Column(f"{stored.event.skill}, {day}", parts, f"/test/{stored.id}", day))
    plot = columns(entries, "Cases of each run of tests", "cases")
    return tag("div", plot, legend((("passed", "passed"), ("failed", "failed")))) if plot else None


def runs_table(events: list[StoredEvent]) -> Markup:
    """Return runs, the newest first, with the change of the pass rate of the same skill."""
    rows = []
    for number, stored in enumerate(events):
        event, data = stored.event, stored.event.data
        before = next((one.event for one in events[number + 1 :] if one.event.skill == event.skill), None)
        failed = data.get("failed")
        rows.append(
            [
                link(f"/test/{stored.id}", local_time(event.time)),
                skill_link(event.skill),
                badge(f"{data.get('passed', '?')} passed", "good"),
                badge(f"{failed} failed", "bad") if failed else "",
                _open(data),
                _change(before, event),
            ]
        )
    return table(("When", "Skill", "Passed", "Failed", "Undecided", "Change"), rows, "Tests")


def show_one(library: Library, identity: int) -> str:
    """Return one run of one skill: every case, and what changed since the run before."""
    found = library.event(identity)
    if found is None or found.event.kind is not Kind.TESTED:
        return page("Test", "/tests", nothing("The journal has no test of this number."))
    event = found.event
    report = _report(library, event)
    about = facts(
        [
            ("Skill", skill_link(event.skill)),
            ("When", local_time(event.time)),
            ("Digest", tag("span", event.digest, class_="mono")),
            ("Tiers", ", ".join(map(str, _list(event.data.get("tiers"))))),
            ("Again", command(f"agent skill test {event.skill}")),
        ]
    )
    if report is None:
        return page("Test", "/tests", about, nothing("The report itself is no longer kept."))
    wanted = EventFilter(kinds=(Kind.TESTED,), skill=event.skill)
    earlier = library.journal.events(wanted, before=identity, limit=1)
    before = _report(library, earlier[0].event) if earlier else None
    cases = [_row(result) for result in _of(report, event.skill)]
    whole = link(f"/test/{identity}/report", "The whole report, with transcripts and plots")
    return page(
        f"Test of {event.skill}",
        "/tests",
        about,
        tag("p", whole),
        _difference(before, report, event.skill) if before else None,
        _failed(_of(report, event.skill)),
        section("Cases", table(("Case", "Tier", "Outcome", "What happened"), cases[:MAX_CASES], "Cases")),
    )


def whole_report(library: Library, identity: int) -> str:
    """Return the report as `agent skill test --html` writes it."""
    found = library.event(identity)
    report = _report(library, found.event) if found else None
    if report is None:
        return page("Test", "/tests", nothing("The report itself is no longer kept."))
    return html_page(report)


def _difference(before: Report, now: Report, skill: str) -> Markup:
    change = compare(before, now)
    rows = [
        [word, result.title or result.id, result.message]
        for word, results in (("worse", change.worse), ("better", change.better), ("new", change.new))
        for result in results
        if result.skill == skill
    ]
    content = table(("Change", "Case", "What happened"), rows, "Changes") if rows else nothing("Nothing.")
    return section("Changes since the previous run", content)


def _failed(results: Sequence[Result]) -> Markup | None:
    """Return the failed cases with what was asked, what came instead, and the transcript."""
    failed = [result for result in results if result.outcome in BAD]
    parts = [
        tag(
            "details",
            tag("summary", result.title or result.id, " ", badge(result.outcome.value, "bad")),
            tag("p", result.message),
            tag("pre", text) if (text := _transcript(result.data)) else None,
            open=place == 0,
        )
        for place, result in enumerate(failed[:MAX_RUNS])
    ]
    return section(f"Failed ({len(failed)})", parts) if parts else None


def _transcript(data: Mapping[str, object]) -> str:
    """Return what a case recorded, as text: the request, the skills that came, calls and answers."""
    lines = [f"Asked: {data['request']}"] if data.get("request") else []
    for one in _mappings(data.get("found")):
        reasons = ", ".join(map(str, _list(one.get("reasons"))))
        lines.append(f"{one.get('skill')} {figure(one.get('score'))}: {reasons}")
    for variant in ("with", "without"):
        for number, run in enumerate(_mappings(data.get(variant)), 1):
            lines.append(f"\n{variant} the skill, run {number}")
            for call in _mappings(run.get("calls")):
                arguments = json.dumps(call.get("arguments"), ensure_ascii=False)
                lines.append(f"→ {call.get('name')} {arguments}\n{call.get('result')}")
            lines += [str(run[name]) for name in ("answer", "error") if run.get(name)]
    return "\n".join(lines)[:20_000]


def _mappings(value: object) -> list[Mapping[str, object]]:
    return [one for one in _list(value) if isinstance(one, Mapping)]


def _row(result: Result) -> list[object]:
    problems = [tag("div", problem) for problem in result.further_problems[:20]]
    title = result.title or result.id
    return [title, result.tier.value, badge(result.outcome.value, _BADGES.get(result.outcome.value, "")),
            [result.message, problems]]  # fmt: skip


def _of(report: Report, skill: str) -> list[Result]:
    return [result for result in report.results if result.skill == skill]


def _report(library: Library, event: Event) -> Report | None:
    return library.reports.load(str(event.data.get("report", "")))


def _open(data: Mapping[str, Json]) -> str:
    """Return how many cases nobody judged, and how many were not run."""
    kinds = (("not_judged", "not judged"), ("not_run", "not run"))
    return ", ".join(f"{number} {words}" for name, words in kinds if (number := data.get(name)))


def _change(before: Event | None, now: Event) -> object:
    old, new = (one.data.get("pass_rate") if one else None for one in (before, now))
    if not isinstance(old, int | float) or not isinstance(new, int | float):
        return ""
    text = f"{old:.0%} → {new:.0%}"
    return badge(text, "bad" if new < old else "good") if new != old else text


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else ()
