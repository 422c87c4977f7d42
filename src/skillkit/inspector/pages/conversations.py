"""Conversations: which there were, and one as a timeline with the tokens of each turn."""

from collections import defaultdict
from collections.abc import Mapping
from urllib.parse import urlencode

from skillkit.inspector.layout import page
from skillkit.inspector.library import Library
from skillkit.inspector.pages.events import conversation_address, entry, when
from skillkit.inspector.pages.token_plot import token_plot, tokens_of
from skillkit.inspector.pages.why_not import why_not
from skillkit.journal import Kind
from skillkit.journal.reading import StoredEvent
from skillkit.web.html import Markup, link, table, tag
from skillkit.web.layout import count_of, nothing, tiles

PAGE = 100
MAX_EVENTS = 2_000
"""Of one conversation; the newest are shown."""
MAX_NAMES = 1_000


def show(library: Library, query: Mapping[str, str]) -> str:
    """Return the list, the newest first, with those whose events have the words that are looked for."""
    text = query.get("q", "")[:200]
    offset = int(query["offset"]) if query.get("offset", "").isdecimal() and len(query["offset"]) < 9 else 0
    found = library.journal.conversations(limit=PAGE + 1, offset=offset, text=text)
    form = tag(
        "form",
        tag("label", "Search", tag("input", type="search", name="q", value=text)),
        tag("button", "Search", type="submit"),
        action="/conversations",
        role="search",
    )
    if not found:
        text = "No conversation has that." if text else "No conversation was recorded yet."
        return page("Conversations", "/conversations", form, nothing(text), live=True)
    rows = [
        [
            link(conversation_address(one.id), one.id),
            when(one.last),
            one.turns,
            one.events,
            ", ".join(one.skills[:12]),
        ]
        for one in found[:PAGE]
    ]
    query = {"q": text} if text else {}
    older = f"/conversations?{urlencode({**query, 'offset': str(offset + PAGE)})}"
    newer = f"/conversations?{urlencode({**query, 'offset': str(max(0, offset - PAGE))})}"
    more = [
        link(newer, "Newer ones") if offset else None,
        link(older, "Older ones") if len(found) > PAGE else None,
    ]
    listed = table(("Conversation", "Last", "Turns", "Events", "Skills"), rows, "Conversations")
    return page(
        "Conversations",
        "/conversations",
        form,
        tag("div", listed, id="list", data_follow=True),
        tag("p", more, class_="actions"),
        live=True,
    )


def show_one(library: Library, identity: str, query: Mapping[str, str]) -> str:
    """Return one conversation, turn by turn; `why` asks about one skill in every turn."""
    events = library.journal.conversation(identity)
    if not events:
        return page(
            "Conversation", "/conversations", nothing("The journal has no conversation of this name.")
        )
    wanted = query.get("why", "")[:128]
    turns: dict[int, list[StoredEvent]] = defaultdict(list)
    for stored in events[-MAX_EVENTS:]:
        turns[stored.event.turn].append(stored)
    hidden = len(events) - MAX_EVENTS
    body = tag(
        "div",
        _about(events, turns),
        token_plot(turns),
        tag("p", f"{hidden:,} earlier events are not shown.", class_="notice") if hidden > 0 else None,
        [_turn(library, wanted, turn, members) for turn, members in sorted(turns.items())],
        id="timeline",
        data_follow=True,
    )
    return page(
        f"Conversation {identity}", "/conversations", _form(library, identity, wanted), body, live=True
    )


def _form(library: Library, identity: str, wanted: str) -> Markup:
    names = [tag("option", value=skill.name) for skill in library.snapshot().skills[:MAX_NAMES]]
    field = tag("input", name="why", value=wanted, autocomplete="off", list="names")
    return tag(
        "form",
        tag("label", "Why not this skill?", field),
        tag("datalist", names, id="names"),
        tag("button", "Answer", type="submit"),
        action=conversation_address(identity),
    )


def _about(events: list[StoredEvent], turns: Mapping[int, list[StoredEvent]]) -> Markup:
    skills = {one.event.skill for one in events if one.event.kind in (Kind.ACTIVATED, Kind.LOADED)}
    runs = sum(one.event.kind is Kind.SCRIPT_RUN for one in events)
    first, last = events[0].event.time, events[-1].event.time
    return tiles(
        [
            ("Began", when(first), f"lasted {last - first:,.0f} s"),
            ("Turns", f"{len(turns):,}", count_of(len(events), "event")),
            ("Skills in use", f"{len(skills):,}", ", ".join(sorted(skills)[:6])),
            ("Scripts", f"{runs:,}", "runs"),
        ]
    )


def _turn(library: Library, wanted: str, turn: int, members: list[StoredEvent]) -> Markup:
    counted = ", ".join(f"{name} {size:,.0f}" for name, size in tokens_of(members) if size)
    return tag(
        "section",
        tag("h2", f"Turn {turn}"),
        why_not(library.journal, wanted, [one.event for one in members]) if wanted else None,
        tag("p", f"Tokens: {counted}", class_="faint") if counted else None,
        tag("ol", [entry(one) for one in members], class_="timeline"),
        class_="turn",
        id=f"turn-{turn}",
    )
