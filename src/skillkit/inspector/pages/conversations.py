"""Conversations: which there were, and one as a timeline with the tokens of each turn."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from urllib.parse import urlencode

from skillkit.core.events import Kind
from skillkit.core.text import count_of
from skillkit.inspector.layout import conversation_address, known_names, page, skill_names
from skillkit.inspector.library import Library, request_text
from skillkit.inspector.pages.events import PARTS, entry, first_words, tokens_in, tokens_said
from skillkit.inspector.pages.skills import offset_in
from skillkit.inspector.pages.why_not import why_not
from skillkit.journal.reading import StoredEvent
from skillkit.web.charts import Column, columns
from skillkit.web.html import Markup, link, table, tag
from skillkit.web.layout import field, legend, local_time, nothing, search, section, tiles

PAGE = 100
MAX_EVENTS = 2_000
"""Of one conversation; the newest are shown."""
MAX_TURNS = 80
"""The newest ones; beyond that a bar is too thin to be pointed at."""


def show(library: Library, query: Mapping[str, str]) -> str:
    """Return the list, the newest first, with those whose events have the words that are looked for."""
    text, offset = query.get("q", "")[:200], offset_in(query)
    found = library.journal.conversations(limit=PAGE + 1, offset=offset, text=text)
    form = search("/conversations", "Search", field("Search", "q", text, type="search"), data_filters="list")
    if not found:
        words = f"No conversation has “{text}”." if text else (
            "No conversation was recorded yet. Begin one with agent, or ask something with agent -p “…”."
        )  # fmt: skip
        return page("Conversations", "/conversations", form, nothing(words), live=True)
    rows = [
        [
            link(conversation_address(one.id), _title(one.opening, one.first, one.skills)),
            local_time(one.last),
            one.turns,
            one.events,
            skill_names(one.skills, 8),
        ]
        for one in found[:PAGE]
    ]
    query = {"q": text} if text else {}
    more = [
        link(f"/conversations?{urlencode({**query, 'offset': str(place)})}", name)
        for name, place, there in (
            ("Newer ones", max(0, offset - PAGE), offset > 0),
            ("Older ones", offset + PAGE, len(found) > PAGE),
        )
        if there
    ]
    listed = table(("Conversation", "Last", "Turns", "Events", "Skills"), rows, "Conversations")
    return page(
        "Conversations",
        "/conversations",
        form,
        tag("div", listed, id="list", data_follow=True, data_searched=True),
        tag("p", more, class_="actions"),
        live=True,
    )


def _title(opening: str, began: float, skills: Sequence[str]) -> str:
    """Return the first words, where texts are kept, or when it began and which skills it had."""
    if opening:
        return first_words(opening)
    return f"{datetime.fromtimestamp(began):%Y-%m-%d %H:%M} · {', '.join(skills[:3]) or 'no skill'}"


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
        _about(identity, events, turns),
        _tokens(turns),
        tag("p", f"{hidden:,} earlier events are not shown.", class_="notice") if hidden > 0 else None,
        [_turn(library, wanted, turn, members) for turn, members in sorted(turns.items())],
        id="timeline",
        data_follow=True,
    )
    opening = next((text for stored in events if (text := request_text(stored.event))), "")
    skills = sorted({stored.event.skill for stored in events if stored.event.skill})
    title = _title(opening, events[0].event.time, skills)
    return page(title, "/conversations", _form(library, identity, wanted), body, live=True)


def _form(library: Library, identity: str, wanted: str) -> Markup:
    asked = field("Why not this skill?", "why", wanted, list="names")
    return search(conversation_address(identity), "Answer", asked, known_names(library.snapshot().skills))


def _about(
    identity: str, events: Sequence[StoredEvent], turns: Mapping[int, Sequence[StoredEvent]]
) -> list[Markup]:
    skills = {one.event.skill for one in events if one.event.kind in (Kind.ACTIVATED, Kind.LOADED)}
    runs = sum(one.event.kind is Kind.SCRIPT_RUN for one in events)
    first, last = events[0].event.time, events[-1].event.time
    return [
        tiles(
            [
                ("Turns", f"{len(turns):,}", count_of(len(events), "event")),
                ("Skills in use", f"{len(skills):,}", ", ".join(sorted(skills)[:6])),
                ("Scripts run", f"{runs:,}", ""),
                ("Lasted", _lasted(last - first), ""),
            ]
        ),
        tag(
            "p",
            "Began ",
            local_time(first),
            " · ",
            tag("span", identity, class_="mono"),
            class_="faint small",
        ),
    ]


def _lasted(seconds: float) -> str:
    return f"{seconds:,.0f} s" if seconds < 120 else f"{seconds / 60:,.0f} min"


def _tokens(turns: Mapping[int, Sequence[StoredEvent]]) -> Markup | None:
    """Return a column for each turn on one scale; each leads to its turn."""
    counted = [(turn, parts) for turn, members in sorted(turns.items()) if (parts := tokens_of(members))]
    entries = [Column(str(turn), parts, f"#turn-{turn}") for turn, parts in counted[-MAX_TURNS:]]
    plot = columns(entries, "Tokens of each turn", "tokens")
    used = {name for entry in entries for name, size in entry.parts if size}
    kinds = legend((name, name) for name in PARTS if name in used)
    return section("Tokens of each turn", plot, kinds) if plot else None


def tokens_of(events: Sequence[StoredEvent]) -> list[tuple[str, float]]:
    """Return the tokens of a turn by part: as the program counted them, or what skills added to it."""
    for kind in (Kind.MODEL_CALLED, Kind.TOKENS):
        for stored in (stored for stored in reversed(events) if stored.event.kind is kind):
            counted = stored.event.data.get("tokens", stored.event.data)
            return tokens_in(counted if isinstance(counted, Mapping) else {})
    return []


def _turn(library: Library, wanted: str, turn: int, members: Sequence[StoredEvent]) -> Markup:
    counted = tokens_of(members)
    whole = f"{sum(size for _, size in counted):,.0f} tokens: {tokens_said(counted)}"
    asked = next((text for one in members if (text := request_text(one.event))), "")
    return tag(
        "section",
        tag("h2", f"Turn {turn}", f": {first_words(asked)}" if asked else None),
        why_not(library.journal, wanted, [one.event for one in members]) if wanted else None,
        tag("p", whole, class_="faint small") if counted else None,
        tag("ol", [entry(one) for one in members], class_="timeline"),
        class_="turn",
        id=f"turn-{turn}",
    )
