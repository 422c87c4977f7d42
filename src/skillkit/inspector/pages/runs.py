"""Runs of scripts: results, grants and refusals of the sandbox."""

from collections.abc import Mapping
from urllib.parse import urlencode

from skillkit.core.events import Event, Json, Kind, entries_of
from skillkit.inspector.layout import conversation_address, page, skill_link
from skillkit.inspector.library import Library
from skillkit.inspector.pages.events import hosts, outcome, timeline, written
from skillkit.inspector.pages.skills import offset_in
from skillkit.journal.reading import StoredEvent
from skillkit.web.charts import bar
from skillkit.web.html import Markup, link, table, tag
from skillkit.web.layout import badge, facts, field, local_time, nothing, search, section

PAGE = 100
_STEPS = (Kind.LOADED, Kind.SCRIPT_ASKED, Kind.SCRIPT_GRANTED, Kind.SCRIPT_DENIED, Kind.SCRIPT_RUN, Kind.READ)
_SHOWN = {
    *("script", "exit_code", "duration_ms", "memory_bytes", "backend", "error", "output", "errors"),
    *("asked", "grants", "limits", "network", "files", "stdout_bytes", "stderr_bytes"),
}
_RIGHTS = (("network", "Whole network"), ("hosts", "Hosts"), ("env", "Variables"), ("secrets", "Secrets"),
           ("project", "Project folder"), ("inputs", "Files of yours"), ("write", "May write"))  # fmt: skip


def show(library: Library, query: Mapping[str, str]) -> str:
    """Return the newest runs, of one skill or of all."""
    skill, text = query.get("skill", "")[:128], query.get("q", "")[:200]
    before = offset_in(query, "before") or None
    kinds = (Kind.SCRIPT_RUN, Kind.SCRIPT_DENIED)
    runs = library.newest(*kinds, limit=PAGE + 1, before=before, skill=skill, text=text)
    words = field("Search", "q", text, type="search")
    form = search("/runs", "Search", words, field("Skill", "skill", skill, short=True), data_filters="list")
    if not runs:
        empty: object = "No run matches."
        if not (text or skill):
            empty = ["No script has run yet. Try one with ", tag("code", "agent skill run NAME SCRIPT")]
        return page("Runs", "/runs", form, tag("div", nothing(empty)), live=True)
    rows = [
        [
            link(f"/run/{stored.id}", local_time(stored.event.time)),
            skill_link(stored.event.skill),
            str(stored.event.data.get("script", "")),
            outcome(stored.event),
            _figure(stored.event.data.get("duration_ms"), 1 / 1000, "{:,.2f} s"),
            _figure(stored.event.data.get("memory_bytes"), 1 / (1 << 20), "{:,.0f} MiB"),
            ", ".join(hosts(entries_of(stored.event.data.get("network")), allowed=True)[:6]),
        ]
        for stored in runs[:PAGE]
    ]
    listed = table(("When", "Skill", "Script", "Outcome", "Time", "Memory", "Hosts"), rows, "Runs")
    given = {"q": text, "skill": skill, "before": str(runs[PAGE - 1].id) if len(runs) > PAGE else ""}
    older = f"/runs?{urlencode({name: value for name, value in given.items() if value})}"
    more = tag("p", link(older, "Older ones"), class_="actions") if given["before"] else None
    body = tag("div", listed, id="list", data_follow=True, data_searched=True)
    return page("Runs", "/runs", form, body, more, live=True)


def show_one(library: Library, identity: int) -> str:
    """Return everything that was recorded of one run."""
    found = library.event(identity)
    if found is None:
        return page("Run", "/runs", nothing("The journal has no run of this number."))
    event = found.event
    rest = {name: value for name, value in event.data.items() if name not in _SHOWN}
    where = link(conversation_address(event.conversation), "Show") if event.conversation else None
    return page(
        f"{event.skill}: {event.data.get('script', 'a script')}",
        "/runs",
        facts(
            [
                ("Outcome", outcome(event)),
                ("When", local_time(event.time, exact=True)),
                ("Skill", skill_link(event.skill)),
                ("Sandbox", str(event.data.get("backend", "unknown"))),
                ("Conversation", where),
                ("Digest", tag("span", event.digest, class_="mono") if event.digest else None),
            ]
        ),
        _limits(event),
        _grants(event),
        _network(event.data.get("network")),
        [
            section(title, tag("pre", _text(event.data[name])))
            for name, title in (("output", "Output"), ("errors", "Errors"))
            if event.data.get(name)
        ],
        _files(event.data.get("files")),
        section("Time line", timeline(_steps(library, found))),
        section("Also recorded", tag("pre", written(rest))) if rest else None,
    )


def _steps(library: Library, run: StoredEvent) -> list[StoredEvent]:
    """Return the events before and after a run, in the same turn."""
    if not run.event.conversation:
        return [run]
    return [
        one
        for one in library.journal.conversation(run.event.conversation)
        if one.event.turn == run.event.turn
        and one.event.skill == run.event.skill
        and one.event.kind in _STEPS
    ]


def _limits(event: Event) -> Markup | None:
    """Return how much a run took of each limit."""
    limits = event.data.get("limits")
    given = limits if isinstance(limits, dict) else {}
    out, err = event.data.get("stdout_bytes"), event.data.get("stderr_bytes")
    taken = (
        ("Time", _number(event.data.get("duration_ms"), 1 / 1000), _number(given.get("timeout")), "s"),
        ("Memory", _number(event.data.get("memory_bytes"), 1 / (1 << 20)),
         _number(given.get("memory"), 1 / (1 << 20)), "MiB"),
        ("Output", _number(out, 1 / 1024), _number(given.get("output"), 1 / 1024), "KiB"),
        ("Errors", _number(err, 1 / 1024), None, "KiB"),
    )  # fmt: skip
    rows = []
    for name, size, limit, unit in taken:
        if size is None or not (size or limit):
            continue
        said = f"{size:,.2f} {unit}" + (f" of {limit:,.0f} {unit}" if limit else "")
        kind = "failed" if limit and size >= limit else "runs"
        rows.append([name, said, bar(((kind, min(size, limit)),), limit, f"{name}: {said}") if limit else ""])
    return section("Limits", table(("Limit", "Used", "Share"), rows, "Limits")) if rows else None


def _grants(event: Event) -> Markup | None:
    """Return what a skill asked for, what this run was granted, and what it used."""
    asked, given = (
        value if isinstance(value, dict) else {} for value in map(event.data.get, ("asked", "grants"))
    )
    if not (asked or given):
        return None
    tried = entries_of(event.data.get("network"))
    used = {"hosts": ", ".join(hosts(tried, allowed=True)) or "nothing"}
    rows = [
        [title, _shown(asked.get(name)), _shown(given.get(name)), used.get(name, "not recorded")]
        for name, title in _RIGHTS
        if asked.get(name) or given.get(name)
    ]
    content = (
        table(("Right", "Asked for", "Given", "Used"), rows, "Grants")
        if rows
        else nothing("It asked for nothing and was given nothing: an empty sandbox.")
    )
    return section("Grants", content)


def _shown(value: Json) -> str:
    if isinstance(value, list | dict):
        return ", ".join(map(str, [*value][:20])) or "nothing"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return "yes" if value is True else str(value)[:500] if value else "nothing"


def _network(attempts: Json) -> Markup | None:
    """Return every host that was tried, and what the sandbox refused."""
    tried = entries_of(attempts)
    if not tried:
        return None
    rows = [
        [
            f"{one.get('host', '?')}:{one.get('port', '?')}",
            _reached(one),
            str(one.get("reason") or ""),
            f"{one.get('sent', 0):,} sent, {one.get('received', 0):,} received",
        ]
        for one in tried[:200]
    ]
    return section("Hosts", table(("Host", "Outcome", "Why", "Bytes"), rows, "Hosts that were tried"))


def _reached(attempt: Mapping[str, Json]) -> Markup:
    if attempt.get("failed"):
        return badge("not reached", "warn")
    return badge("reached", "good") if attempt.get("allowed") else badge("blocked by the sandbox", "bad")


def _files(made: Json) -> Markup | None:
    rows = [[str(one.get("name")), _shown(one.get("bytes"))] for one in entries_of(made)]
    return section("Files made", table(("File", "Bytes"), rows, "Files made")) if rows else None


def _number(value: Json, factor: float = 1.0) -> float | None:
    return value * factor if isinstance(value, int | float) and not isinstance(value, bool) else None


def _figure(value: Json, factor: float, form: str) -> Markup | None:
    """Return a figure with its unit, on one line."""
    taken = _number(value, factor)
    return None if taken is None else tag("span", form.format(taken), class_="figure")


def _text(value: Json) -> str:
    """Return an output that was kept, or how long it was."""
    if isinstance(value, dict):
        kept = f"{value.get('length', '?')} characters; kept only with ENABLE_SENSITIVE_DATA=true"
        return str(value.get("text") or kept)
    return str(value)
