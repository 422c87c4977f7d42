"""Conversations: which there were, and one as a timeline with the tokens of each turn."""

from collections import defaultdict
from collections.abc import Mapping

from skillkit.core.events import Json
from skillkit.core.names import canonical_name
from skillkit.inspector.html import Markup, bar, link, table, tag
from skillkit.inspector.layout import facts, nothing, page, section
from skillkit.inspector.library import Library
from skillkit.inspector.pages.events import conversation_address, entry, when
from skillkit.journal import Kind
from skillkit.journal.reading import StoredEvent

PAGE = 100
PARTS = ("system", "catalogue", "skills", "note", "tools", "messages")


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
        return page(
            "Conversations", "/conversations", form, nothing("No conversation was recorded yet."), live=True
        )
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
    more = link(f"/conversations?offset={offset + PAGE}", "Older ones") if len(found) > PAGE else None
    listed = table(("Conversation", "Last", "Turns", "Events", "Skills"), rows, "Conversations")
    return page(
        "Conversations",
        "/conversations",
        form,
        tag("div", listed, id="list", data_follow=True),
        more,
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
    for stored in events:
        turns[stored.event.turn].append(stored)
    form = tag(
        "form",
        tag("label", "Why not this skill?", tag("input", name="why", value=wanted, autocomplete="off")),
        tag("button", "Answer", type="submit"),
        action=conversation_address(identity),
    )
    sections = [
        section(
            f"Turn {turn}",
            _why(wanted, members),
            _tokens(members),
            tag("ol", [entry(one) for one in members], class_="timeline"),
        )
        for turn, members in sorted(turns.items())
    ]
    about = facts(
        [("From", when(events[0].event.time)), ("To", when(events[-1].event.time)), ("Events", len(events))]
    )
    body = tag("div", sections, id="timeline", data_follow=True)
    return page(f"Conversation {identity}", "/conversations", about, form, body, live=True)


_PLACES = (
    ("matched", "It matched"),
    ("left_out", "It matched and the limit left it out"),
    ("near", "It was near and below the line"),
)


def _why(wanted: str, events: list[StoredEvent]) -> Markup | None:
    """Return what the journal says about one skill in this turn, as it was then."""
    if not wanted:
        return None
    matched = [stored.event.data for stored in events if stored.event.kind is Kind.MATCHED]
    if not matched:
        return tag("p", "No request was compared with the skills in this turn.", class_="faint")
    for data in matched:
        for place, words in _PLACES:
            for one in _entries(data.get(place)):
                if one.get("id") == canonical_name(wanted):
                    behind = place == "near" and _reached(one, data.get("line"))
                    why = "It reached the line and another skill was clearly ahead" if behind else words
                    return tag("p", f"{why}: {_score(one, data.get('line'))}.")
    return tag(
        "p",
        f"'{wanted}' had less in common with this request than the skills that are listed, "
        "or was not on offer then.",
    )


def _reached(one: dict[str, Json], line: Json) -> bool:
    score = one.get("score")
    return isinstance(score, int | float) and isinstance(line, int | float) and score >= line


def _score(one: dict[str, Json], line: Json) -> str:
    reasons = one.get("reasons")
    because = f", because of {', '.join(map(str, reasons))}" if isinstance(reasons, list) and reasons else ""
    needed = "an unknown line" if line is None else line
    return f"{one.get('score', 'unknown')} where {needed} is needed{because}"


def _tokens(events: list[StoredEvent]) -> Markup | None:
    """Return the tokens of a turn by part: as the program counted them, or what skills added to it."""
    for kind in (Kind.MODEL_CALLED, Kind.TOKENS):
        for stored in (stored for stored in reversed(events) if stored.event.kind is kind):
            counted = stored.event.data.get("tokens", stored.event.data)
            data = counted if isinstance(counted, Mapping) else {}
            parts = [
                (name, float(value)) for name in PARTS if isinstance(value := data.get(name), int | float)
            ]
            whole = sum(size for _, size in parts)
            text = ", ".join(f"{name} {size:,.0f}" for name, size in parts if size)
            return tag("div", bar(parts, whole, text), tag("small", text, class_="faint"))
    return None


def _entries(found: Json) -> list[dict[str, Json]]:
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
