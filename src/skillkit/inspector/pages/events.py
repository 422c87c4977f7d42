"""Events as people read them: one line that says what happened, and the data beneath it."""

import json
from collections.abc import Mapping
from datetime import datetime
from urllib.parse import quote

from skillkit.core.events import Event, Json, Kind, entries_of
from skillkit.inspector.pages.skills import address
from skillkit.journal.reading import StoredEvent
from skillkit.web.html import Markup, link, tag

_ANSWERS = {
    Kind.SCRIPT_ASKED: "asked about",
    Kind.SCRIPT_GRANTED: "allowed",
    Kind.SCRIPT_DENIED: "denied",
}


def conversation_address(identity: str) -> str:
    return f"/conversation/{quote(identity, safe='')}"


def when(seconds: float) -> Markup:
    """Return a time for people, with the exact one for programs."""
    moment = datetime.fromtimestamp(seconds).astimezone()
    return tag("time", f"{moment:%Y-%m-%d %H:%M:%S}", datetime=moment.isoformat(timespec="milliseconds"))


def summary(event: Event) -> list[object]:
    """Return one line about an event."""
    data = event.data
    skill = link(address(event.skill), event.skill) if event.skill else ""
    match event.kind:
        case Kind.OFFERED:
            return [f"{data.get('count', '?')} skills were on offer"]
        case Kind.MATCHED:
            names = _ids(data.get("matched"))
            near = _ids(data.get("near"))
            return [
                "The request matched ", ", ".join(names) or "no skill",
                _because(data.get("matched")),
                tag("div", f"Near: {', '.join(near)}", class_="faint") if near else None,
            ]  # fmt: skip
        case Kind.ACTIVATED:
            return [
                skill,
                f" came into use ({data.get('origin', 'unknown')}, {data.get('tokens', '?')} tokens)",
            ]
        case Kind.LOADED:
            return [skill, f" was loaded by the {data.get('origin', 'model')}"]
        case Kind.READ:
            return [skill, f": the model read {data.get('path', 'a file')}"]
        case Kind.SCRIPT_RUN:
            return [
                skill,
                f": {data.get('script', 'a script')} ended with {data.get('error') or data.get('exit_code')}",
            ]
        case Kind.SCRIPT_ASKED | Kind.SCRIPT_GRANTED | Kind.SCRIPT_DENIED:
            return [skill, f": {_ANSWERS[event.kind]} {data.get('script', 'a script')}"]
        case Kind.TOKENS:
            return [f"Skills added {data.get('total', '?')} tokens to the request"]
        case Kind.MODEL_CALLED:
            counted = data.get("tokens")
            tokens = counted if isinstance(counted, dict) else {}
            return [
                f"{data.get('model', 'A model')} was sent {tokens.get('total', '?')} tokens and answered "
                f"with {tokens.get('output', '?')}"
            ]
        case _:
            return [skill, f" {event.kind.value.replace('_', ' ')}"]


def entry(stored: StoredEvent) -> Markup:
    """Return an event as an item of a timeline."""
    event = stored.event
    return tag(
        "li",
        tag("div", summary(event)),
        tag(
            "details",
            tag("summary", when(event.time), class_="faint"),
            tag("pre", written(event.data)),
            id=f"event-{stored.id}",
        )
        if event.data
        else tag("small", when(event.time), class_="faint"),
        class_=event.kind.value,
    )


def written(data: Mapping[str, Json]) -> str:
    return json.dumps(dict(data), indent=1, ensure_ascii=False)[:20_000]


def _because(found: Json) -> str:
    """Return the reasons of what matched, the first skill's first."""
    reasons = [reason for one in entries_of(found) if isinstance(reason := one.get("reasons"), list)]
    said = ["; ".join(map(str, each)) for each in reasons if each]
    return f", because of {' | '.join(said)}" if said else ""


def _ids(found: Json) -> list[str]:
    return [
        f"{one.get('id')} ({one.get('score')})" if "score" in one else str(one.get("id"))
        for one in entries_of(found)
    ]
