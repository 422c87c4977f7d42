"""The tokens of each turn of a conversation, stacked by where they come from."""

from collections.abc import Mapping, Sequence

from skillkit.core.events import Kind
from skillkit.journal.reading import StoredEvent
from skillkit.web.html import Markup, tag
from skillkit.web.layout import legend, section

PARTS = ("system", "catalogue", "skills", "note", "tools", "messages")
WIDTH, HEIGHT = 900, 150
_LEFT, _BOTTOM, _TOP = 52, 20, 10
_WIDEST = 56
MAX_TURNS = 80
"""The newest ones; beyond that a bar is too thin to be pointed at."""


def tokens_of(events: Sequence[StoredEvent]) -> list[tuple[str, float]]:
    """Return the tokens of a turn by part: as the program counted them, or what skills added to it."""
    for kind in (Kind.MODEL_CALLED, Kind.TOKENS):
        for stored in (stored for stored in reversed(events) if stored.event.kind is kind):
            counted = stored.event.data.get("tokens", stored.event.data)
            data = counted if isinstance(counted, Mapping) else {}
            return [
                (name, max(0.0, float(value)))
                for name in PARTS
                if isinstance(value := data.get(name), int | float)
            ]
    return []


def token_plot(turns: Mapping[int, Sequence[StoredEvent]]) -> Markup | None:
    """Return a bar for each turn on one scale; each leads to its turn."""
    counted = [(turn, parts) for turn, members in sorted(turns.items()) if (parts := tokens_of(members))]
    counted = counted[-MAX_TURNS:]
    highest = max((sum(size for _, size in parts) for _, parts in counted), default=0.0)
    if not highest:
        return None
    step = min((WIDTH - _LEFT) / len(counted), 2 * _WIDEST)
    bars = [
        _bar(turn, parts, _LEFT + place * step, min(step * 0.8, _WIDEST), highest)
        for place, (turn, parts) in enumerate(counted)
    ]
    used = {name for _, parts in counted for name, size in parts if size}
    plot = tag(
        "svg",
        [_rule(highest * share, highest) for share in (0, 0.5, 1)],
        bars,
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        class_="plot",
        role="group",
        aria_label="Tokens of each turn",
    )
    return section("Tokens", plot, legend((name, name) for name in PARTS if name in used))


def _bar(turn: int, parts: Sequence[tuple[str, float]], left: float, width: float, highest: float) -> Markup:
    below, pieces = 0.0, []
    for kind, size in parts:
        top, bottom = _level(below + size, highest), _level(below, highest)
        place = {
            "x": f"{left:.1f}",
            "y": f"{top:.1f}",
            "width": f"{width:.1f}",
            "height": f"{bottom - top:.1f}",
        }
        pieces.append(tag("rect", tag("title", f"{kind}: {size:,.0f}"), class_=f"part {kind}", **place))
        below += size
    label = f"Turn {turn}: {below:,.0f} tokens"
    name = tag("text", str(turn), x=f"{left + width / 2:.1f}", y=HEIGHT - 5, text_anchor="middle")
    return tag("a", pieces, name, href=f"#turn-{turn}", aria_label=label)


def _rule(size: float, highest: float) -> list[Markup]:
    y = _level(size, highest)
    return [
        tag("line", x1=_LEFT - 4, x2=WIDTH, y1=f"{y:.1f}", y2=f"{y:.1f}", class_="rule"),
        tag("text", f"{size:,.0f}", x=_LEFT - 8, y=f"{y + 4:.1f}", text_anchor="end"),
    ]


def _level(size: float, highest: float) -> float:
    return HEIGHT - _BOTTOM - (HEIGHT - _BOTTOM - _TOP) * size / highest
