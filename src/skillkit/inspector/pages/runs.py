"""Runs of scripts: what came of them, what they were given, what the sandbox refused."""

from collections.abc import Mapping
from urllib.parse import urlencode

from skillkit.core.events import Json, entries_of
from skillkit.inspector.layout import page
from skillkit.inspector.library import Library
from skillkit.inspector.pages.events import conversation_address, when, written
from skillkit.inspector.pages.skills import address
from skillkit.journal import EventFilter, Kind
from skillkit.web.html import Markup, link, table, tag
from skillkit.web.layout import badge, facts, nothing, section

PAGE = 100


def show(library: Library, query: Mapping[str, str]) -> str:
    """Return the newest runs, of one skill or of all."""
    skill, text = query.get("skill", "")[:128], query.get("q", "")[:200]
    before = (
        int(query["before"]) if query.get("before", "").isdecimal() and len(query["before"]) < 16 else None
    )
    wanted = EventFilter(kinds=(Kind.SCRIPT_RUN, Kind.SCRIPT_DENIED), skill=skill, text=text)
    runs = library.journal.events(wanted, before=before, limit=PAGE + 1)
    form = tag(
        "form",
        tag("label", "Search", tag("input", type="search", name="q", value=text)),
        tag("label", "Skill", tag("input", name="skill", value=skill), class_="short"),
        tag("button", "Search", type="submit"),
        action="/runs",
        role="search",
    )
    if not runs:
        text = "No run is like that." if text or skill else "No script has run yet."
        return page("Runs", "/runs", form, nothing(text), live=True)
    rows = [
        [
            link(f"/run/{stored.id}", when(stored.event.time)),
            link(address(stored.event.skill), stored.event.skill),
            str(stored.event.data.get("script", "")),
            _outcome(stored.event.kind, stored.event.data),
            f"{stored.event.data.get('duration_ms', '')} ms",
            _memory(stored.event.data.get("memory_bytes"), unknown=""),
            _hosts(stored.event.data.get("network")),
            str(stored.event.data.get("backend", "")),
        ]
        for stored in runs[:PAGE]
    ]
    listed = table(("When", "Skill", "Script", "Outcome", "Time", "Memory", "Hosts", "Sandbox"), rows, "Runs")
    given = {"q": text, "skill": skill, "before": str(runs[PAGE - 1].id) if len(runs) > PAGE else ""}
    older = f"/runs?{urlencode({name: value for name, value in given.items() if value})}"
    more = tag("p", link(older, "Older ones"), class_="actions") if given["before"] else None
    return page("Runs", "/runs", form, tag("div", listed, id="list", data_follow=True), more, live=True)


def show_one(library: Library, identity: int) -> str:
    """Return everything that was recorded of one run."""
    found = [stored for stored in library.journal.since(identity - 1, 1) if stored.id == identity]
    if not found:
        return page("Run", "/runs", nothing("The journal has no run of this number."))
    event = found[0].event
    known = {
        *("script", "exit_code", "duration_ms", "memory_bytes", "backend", "error", "output", "errors"),
        *("asked", "grants", "limits", "network"),
    }
    rest = {name: value for name, value in event.data.items() if name not in known}
    return page(
        f"Run {identity}",
        "/runs",
        facts(
            [
                ("Skill", link(address(event.skill), event.skill)),
                ("Script", str(event.data.get("script", ""))),
                ("When", when(event.time)),
                ("Outcome", _outcome(event.kind, event.data)),
                ("Time", f"{event.data.get('duration_ms', '?')} ms"),
                ("Memory", _memory(event.data.get("memory_bytes"))),
                ("Sandbox", str(event.data.get("backend", "unknown"))),
                ("Asked for", _listed(event.data.get("asked"))),
                ("Was given", _listed(event.data.get("grants"))),
                ("Limits", _listed(event.data.get("limits"))),
                ("Digest", tag("span", event.digest, class_="mono") if event.digest else None),
                (
                    "Conversation",
                    link(conversation_address(event.conversation), event.conversation)
                    if event.conversation
                    else None,
                ),
            ]
        ),
        _network(event.data.get("network")),
        [
            section(name.capitalize(), tag("pre", _text(event.data[name])))
            for name in ("output", "errors")
            if event.data.get(name)
        ],
        section("Recorded", tag("pre", written(rest))) if rest else None,
    )


def _listed(value: Json) -> Markup | None:
    """Return what a mapping says, a line for each thing that is not empty."""
    if not isinstance(value, dict):
        return None
    lines = [
        tag("div", f"{name.replace('_', ' ')}: {_shown(each)}")
        for name, each in value.items()
        if each not in (None, False, [], {}, "")
    ]
    return tag("div", lines) if lines else tag("span", "nothing", class_="faint")


def _shown(value: Json) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value[:20]))
    return "yes" if value is True else str(value)[:500]


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
            f"{one.get('sent', 0)} sent, {one.get('received', 0)} received",
        ]
        for one in tried[:200]
    ]
    return section("Hosts", table(("Host", "Outcome", "Why", "Bytes"), rows, "Hosts that were tried"))


def _reached(attempt: Mapping[str, Json]) -> Markup:
    if attempt.get("failed"):
        return badge("failed", "warn")
    return badge("reached", "good") if attempt.get("allowed") else badge("refused", "bad")


def _outcome(kind: Kind, data: Mapping[str, Json]) -> object:
    if kind is Kind.SCRIPT_DENIED:
        return badge("denied", "warn")
    error = data.get("error")
    return badge(str(error), "bad") if error else badge(f"exit {data.get('exit_code', '?')}", "good")


def _memory(size: Json, unknown: str = "unknown: it ended before somebody looked") -> str:
    return f"{size / (1 << 20):,.0f} MiB at most" if isinstance(size, int | float) else unknown


def _hosts(attempts: Json) -> str:
    """Return what a script tried to reach, a refused host with that word."""
    tried: dict[str, None] = {}
    for attempt in entries_of(attempts):
        outcome = " (failed)" if attempt.get("failed") else "" if attempt.get("allowed") else " (refused)"
        tried[f"{attempt.get('host', '?')}{outcome}"] = None
    return ", ".join([*tried][:6])


def _text(value: Json) -> str:
    """Return an output that was kept, or how long it was."""
    if isinstance(value, dict):
        return str(
            value.get("text")
            or f"{value.get('length', '?')} characters; kept only with ENABLE_SENSITIVE_DATA"
        )
    return str(value)
