"""Events as people read them: one line that says what happened, and the data beneath it."""

import json
from collections.abc import Mapping, Sequence
from datetime import date, timedelta

from skillkit.core.events import Event, Json, Kind, entries_of
from skillkit.core.text import one_line
from skillkit.inspector.layout import conversation_address, skill_link, skill_names
from skillkit.inspector.library import request_text
from skillkit.journal.reading import StoredEvent
from skillkit.web.charts import Column, columns
from skillkit.web.html import Markup, link, tag
from skillkit.web.layout import badge, legend, local_time

TITLE = 70
NEAREST = 5
_WANTED = {"loaded": "its instructions", "read": "a file", "script_run": "a run"}
REFUSALS = {
    "disabled": "it was not enabled",
    "untrusted": "it was not trusted",
    "unavailable": "a requirement was missing",
    "not_found": "it is not offered to this requester",
}
"""Words for the codes of refusals."""
_FAILURES = {
    "not_found": "no skill has this name",
    "read_error": "it could not be read",
    "too_large": "it is too long",
}
"""Words where a use, not an offer, was refused."""
_ANSWERS = {
    Kind.SCRIPT_ASKED: "the user was asked about",
    Kind.SCRIPT_GRANTED: "the user allowed",
    Kind.SCRIPT_DENIED: "not run:",
}
PARTS = ("system", "catalogue", "skills", "note", "tools", "messages")
"""Of a prompt, in the order in which bars and legends show them."""


def first_words(text: str) -> str:
    """Return a text as a title."""
    line = one_line(text)
    return line if len(line) <= TITLE else f"{line[: TITLE - 1].rstrip()}…"


def scores(found: Json, most: int | None = None) -> str:
    """Return `csv-report (0.91), …`."""
    return ", ".join(f"{one.get('id')} ({figure(one.get('score'))})" for one in entries_of(found)[:most])


def figure(value: object) -> str:
    """Return a score with two decimals."""
    return f"{value:.2f}" if isinstance(value, int | float) else "unknown"


def summary(event: Event) -> list[object]:
    """Return one line about an event."""
    data = event.data
    skill = skill_link(event.skill)
    match event.kind:
        case Kind.OFFERED:
            return [f"{data.get('count', '?')} skills were on offer"]
        case Kind.MATCHED:
            near = scores(data.get("near"), NEAREST)
            return [
                tag("q", first_words(text)) if (text := request_text(event)) else "The request",
                " matched ", scores(data.get("matched")) or "no skill",
                _because(data.get("matched")),
                tag("div", f"Near: {near}", class_="faint small") if near else None,
            ]  # fmt: skip
        case Kind.ACTIVATED:
            origin = data.get("origin", "unknown")
            tokens = data.get("tokens")
            said = f"{tokens:,}" if isinstance(tokens, int) else "?"
            return [skill, f" came into use ({origin}), {said} tokens"]
        case Kind.LOADED | Kind.READ:
            loaded = f" was loaded by the {data.get('origin', 'model')}"
            return [
                skill,
                loaded if event.kind is Kind.LOADED else f": the model read {data.get('path', '?')}",
            ]
        case Kind.REFUSED:
            wanted = _WANTED.get(str(data.get("wanted")), "something")
            code = str(data.get("error") or "")
            why = _FAILURES.get(code) or REFUSALS.get(code, code)
            asked = f": the model asked for {wanted} and was "
            return [skill or "A skill", asked, badge("refused", "bad"), f": {why}" if why else None]
        case Kind.SCRIPT_RUN:
            return [skill, f": {data.get('script', 'a script')} ", outcome(event)]
        case Kind.SCRIPT_ASKED | Kind.SCRIPT_GRANTED | Kind.SCRIPT_DENIED:
            reason = f" ({data['reason']})" if data.get("reason") else ""
            return [skill, f": {_ANSWERS[event.kind]} {data.get('script', 'a script')}{reason}"]
        case Kind.TOKENS:
            return [f"Skills added {_sum(tokens_in(data))} tokens: {tokens_said(tokens_in(data))}"]
        case Kind.MODEL_CALLED:
            return [_model_call(data)]
        case _:
            return [skill, f" {_other(event)}"]


def _model_call(data: Mapping[str, Json]) -> str:
    counted = data.get("tokens")
    tokens = counted if isinstance(counted, dict) else {}
    sent = tokens_in(tokens)
    said = f"{data.get('model', 'A model')} was sent {_sum(sent)} tokens ({tokens_said(sent)})"
    return f"{said} and answered with {tokens.get('output', '?')}"


def _other(event: Event) -> str:
    data = event.data
    if event.kind is Kind.CONSENTED:
        return (
            f"consent to {data.get('kind', 'use')} {'revoked' if data.get('granted') is False else 'given'}"
        )
    if event.kind is Kind.TESTED:
        return f"{data.get('passed', '?')} tests passed, {data.get('failed', '?')} failed"
    return event.kind.value.replace("_", " ")


def outcome(event: Event) -> Markup:
    """Return how a run ended, in words: what the sandbox or the network refused comes before a code."""
    data = event.data
    if event.kind is Kind.SCRIPT_DENIED:
        return badge("not run: denied", "warn")
    error = data.get("error")
    if not error and not data.get("exit_code"):
        return badge("succeeded", "good")
    if error == "timeout":
        limits = data.get("limits")
        seconds = limits.get("timeout") if isinstance(limits, dict) else None
        return badge(
            f"timed out after {seconds:g} s" if isinstance(seconds, int | float) else "timed out", "bad"
        )
    tried = entries_of(data.get("network"))
    if any(one.get("failed") and "no network" in str(one.get("reason")) for one in tried):
        return badge("no network", "bad")
    if blocked := hosts(tried, allowed=False):
        return badge(f"blocked by the sandbox: {', '.join(blocked[:3])}", "bad")
    words = {"permission_denied": "refused", "dependency_failed": "a package is missing",
             "parse_error": "its output is not JSON"}  # fmt: skip
    if error in words:
        return badge(words[str(error)], "bad")
    return badge(f"failed with exit code {data.get('exit_code', '?')}", "bad")


def hosts(tried: Sequence[Mapping[str, Json]], *, allowed: bool) -> list[str]:
    """Return the hosts that a script reached or tried in vain, each once."""
    return [*dict.fromkeys(str(one.get("host", "?")) for one in tried if bool(one.get("allowed")) is allowed)]


def entry(stored: StoredEvent) -> Markup:
    """Return an event as an item of a timeline."""
    event = stored.event
    moment = local_time(event.time, exact=True)
    more = tag("details", tag("summary", moment, class_="faint"), tag("pre", written(event.data)),
               id=f"event-{stored.id}")  # fmt: skip
    body = more if event.data else tag("small", moment, class_="faint")
    return tag("li", tag("div", summary(event)), body, class_=event.kind.value)


def short_day(day: date) -> str:
    return f"{day:%d %b}".lstrip("0")


def days_chart(
    counted: Mapping[tuple[date, Kind], int],
    number: int,
    kinds: Mapping[Kind, tuple[str, str]],
    label: str,
    height: int,
) -> list[Markup] | None:
    """Return events by day with their legend, or None where the last days have none.

    `kinds` has the part of a column and the words of each kind.
    """
    today, parts = date.today(), kinds.items()
    days = [today - timedelta(days=back) for back in reversed(range(number))]
    entries = [
        Column(short_day(day), [(part, float(counted.get((day, kind), 0))) for kind, (part, _) in parts])
        for day in days
    ]
    chart = columns(entries, label, "events", height=height)
    if chart is None:
        return None
    used = {kind for day, kind in counted if day in days}
    return [chart, legend(names for kind, names in parts if kind in used)]


def timeline(events: Sequence[StoredEvent]) -> Markup:
    return tag("ol", [entry(stored) for stored in events], class_="timeline")


def event_list(events: Sequence[StoredEvent]) -> Markup:
    """Return events as short lines with their time: what happened lately."""
    rows = [
        tag("li", tag("div", _brief(one.event)), tag("small", _leading(one), class_="faint"), class_="line")
        for one in events
    ]
    return tag("ul", rows, class_="plain")


def _brief(event: Event) -> list[object]:
    """Return a request with the skills that came, anything else as everywhere."""
    if event.kind is not Kind.MATCHED:
        return summary(event)
    names = [str(one.get("id")) for one in entries_of(event.data.get("matched"))]
    asked = tag("q", first_words(text)) if (text := request_text(event)) else "A request"
    return [asked, " ", skill_names(names) if names else badge("no skill")]


def _leading(stored: StoredEvent) -> object:
    """Return the time of an event, as a link to what it is part of."""
    moment = local_time(stored.event.time, brief=True)
    if stored.event.kind is Kind.SCRIPT_RUN:
        return link(f"/run/{stored.id}", moment)
    if stored.event.conversation:
        return link(conversation_address(stored.event.conversation), moment)
    return moment


def written(data: Mapping[str, Json]) -> str:
    return json.dumps(dict(data), indent=1, ensure_ascii=False)[:20_000]


def tokens_in(data: Mapping[str, Json]) -> list[tuple[str, float]]:
    """Return the tokens of a prompt by part."""
    return [
        (name, max(0.0, float(value))) for name in PARTS if isinstance(value := data.get(name), int | float)
    ]


def tokens_said(parts: Sequence[tuple[str, float]]) -> str:
    """Return `system 240, skills 410`; they add up to what is said beside them."""
    return ", ".join(f"{name} {size:,.0f}" for name, size in parts if size) or "none"


def _sum(parts: Sequence[tuple[str, float]]) -> str:
    return f"{sum(size for _, size in parts):,.0f}"


def _because(found: Json) -> str:
    """Return the reasons of what matched, the first skill's first."""
    reasons = [reason for one in entries_of(found) if isinstance(reason := one.get("reasons"), list)]
    said = ["; ".join(map(str, each)) for each in reasons if each]
    return f": {' | '.join(said)}" if said else ""
