"""Results of tests of skills: over time, one run with what changed since the one before, whole reports."""

from collections.abc import Mapping

from skillkit.core.events import Event, Json
from skillkit.evaluation.comparison import compare
from skillkit.evaluation.rendering.html import html_page
from skillkit.evaluation.report import Report, Result
from skillkit.inspector.layout import page
from skillkit.inspector.library import Library
from skillkit.inspector.pages.events import when
from skillkit.inspector.pages.skills import address
from skillkit.journal import EventFilter, Kind
from skillkit.journal.reading import StoredEvent
from skillkit.web.html import Markup, link, table, tag
from skillkit.web.layout import badge, facts, nothing, section

MAX_CASES = 500
_BADGES = {"passed": "good", "failed": "bad", "error": "bad", "warned": "warn"}


def show(library: Library) -> str:
    """Return the runs of `agent skill test` that the journal knows, each beside the one before."""
    events = library.journal.events(EventFilter(kinds=(Kind.TESTED,)), limit=MAX_CASES)
    if not events:
        return page("Tests", "/tests", nothing("No skill was tested yet."), live=True)
    return page("Tests", "/tests", tag("div", runs_table(events), id="list", data_follow=True), live=True)


def runs_table(events: list[StoredEvent]) -> Markup:
    """Return runs, the newest first, with the change of the pass rate of the same skill."""
    rows = []
    for number, stored in enumerate(events):
        event, data = stored.event, stored.event.data
        before = next((one.event for one in events[number + 1 :] if one.event.skill == event.skill), None)
        failed = data.get("failed")
        rows.append(
            [
                link(f"/test/{stored.id}", when(event.time)),
                link(address(event.skill), event.skill),
                badge(f"{data.get('passed', '?')} passed", "good"),
                badge(f"{failed} failed", "bad") if failed else "",
                _open(data),
                _change(before, event),
            ]
        )
    return table(("When", "Skill", "Passed", "Failed", "Open", "Since the run before"), rows, "Tests")


def show_one(library: Library, identity: int) -> str:
    """Return one run of one skill: every case, and what changed since the run before."""
    found = [stored for stored in library.journal.since(identity - 1, 1) if stored.id == identity]
    if not found or found[0].event.kind is not Kind.TESTED:
        return page("Test", "/tests", nothing("The journal has no test of this number."))
    event = found[0].event
    report = _report(library, event)
    about = facts(
        [
            ("Skill", link(address(event.skill), event.skill)),
            ("When", when(event.time)),
            ("Digest", tag("span", event.digest, class_="mono")),
            ("Tiers", ", ".join(map(str, _list(event.data.get("tiers"))))),
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
        section("Cases", table(("Case", "Tier", "Outcome", "What happened"), cases[:MAX_CASES], "Cases")),
    )


def whole_report(library: Library, identity: int) -> str:
    """Return the report as `agent skill test --html` writes it."""
    found = [stored for stored in library.journal.since(identity - 1, 1) if stored.id == identity]
    report = _report(library, found[0].event) if found else None
    if report is None:
        return page("Test", "/tests", nothing("The report itself is no longer kept."))
    return html_page(report)


def _difference(before: Report, now: Report, skill: str) -> Markup:
    change = compare(before, now)
    rows = [
        [word, result.id, result.message]
        for word, results in (("worse", change.worse), ("better", change.better), ("new", change.new))
        for result in results
        if result.skill == skill
    ]
    content = table(("Change", "Case", "What happened"), rows, "Changes") if rows else nothing("Nothing.")
    return section("Changed since the run before", content)


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
    not_run = data.get("not_run")
    return f"{data.get('not_judged', 0)} not judged" + (f", {not_run} not run" if not_run else "")


def _change(before: Event | None, now: Event) -> object:
    old, new = (one.data.get("pass_rate") if one else None for one in (before, now))
    if not isinstance(old, int | float) or not isinstance(new, int | float):
        return ""
    text = f"{old:.0%} → {new:.0%}"
    return badge(text, "bad" if new < old else "good") if new != old else text


def _list(value: Json | Mapping[str, Json]) -> list[Json]:
    return value if isinstance(value, list) else []
