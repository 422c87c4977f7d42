"""Charts as SVG that fit any width: shares of a whole, a value with its limit, columns over time."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from skillkit.web.html import Markup, tag

_BELOW, _ABOVE = 18, 16
_LEFT = 5.0
"""Percent of the width that the figures of the scale have to themselves."""
_WIDEST = 7.0
_MAX_NAMES = 8


class Column(NamedTuple):
    """A stacked column of a chart."""

    name: str
    parts: Sequence[tuple[str, float]]
    """By kind, which is the class of the style sheet, from below."""
    address: str = ""
    """Where the column leads, as `#turn-1`."""
    label: str = ""
    """Text below the column, where that is not its name."""

    @property
    def height(self) -> float:
        return sum(size for _, size in self.parts)


def bar(parts: Iterable[tuple[str, float]], whole: float, label: str, limit: float | None = None) -> Markup:
    """Return a bar of coloured parts, each named in its tooltip; `limit` is marked across it."""
    pieces: list[Markup] = []
    position = 0.0
    for kind, size in parts:
        share = 100 * size / whole if whole else 0.0
        place = {"x": f"{position:.2f}%", "y": "0", "width": f"{share:.2f}%", "height": "100%"}
        pieces.append(tag("rect", tag("title", f"{kind}: {_figure(size)}"), class_=f"part {kind}", **place))
        position += share
    if limit is not None:
        x = f"{100 * limit / whole:.2f}%"
        pieces.append(tag("line", x1=x, x2=x, y1="0", y2="100%", class_="limit"))
    return tag("svg", pieces, class_="bar", role="img", aria_label=label)


def columns(entries: Sequence[Column], label: str, unit: str, height: int = 140) -> Markup | None:
    """Return stacked columns on one scale, or None where there is nothing to show."""
    highest = max((entry.height for entry in entries), default=0.0)
    if not highest:
        return None
    step = (100 - _LEFT) / len(entries)
    every = -(-len(entries) // _MAX_NAMES)
    scale = _Scale(highest, height)
    drawn = [
        _column(entry, _LEFT + place * step, step, scale, unit, named=place % every == 0)
        for place, entry in enumerate(entries)
    ]
    linked = any(entry.address for entry in entries)
    said = label if linked else f"{label}: {', '.join(_said(entry, unit) for entry in entries)}"
    rules = [scale.rule(size) for size in dict.fromkeys((0.0, float(round(highest / 2)), highest))]
    role = "group" if linked else "img"
    return tag("svg", rules, drawn, height=height, class_="chart", role=role, aria_label=said)


class _Scale(NamedTuple):
    """How high a value is drawn."""

    highest: float
    height: int

    def level(self, size: float) -> float:
        return self.height - _BELOW - (self.height - _BELOW - _ABOVE) * size / self.highest

    def rule(self, size: float) -> list[Markup]:
        y = self.level(size)
        line = tag("line", x1="0", x2="100%", y1=f"{y:.1f}", y2=f"{y:.1f}", class_="rule")
        return [line, tag("text", _figure(size), x="0", y=f"{y - 3:.1f}")] if size else [line]


def _column(
    entry: Column, left: float, step: float, scale: _Scale, unit: str, *, named: bool
) -> Markup | list[Markup]:
    width = min(step * 0.75, _WIDEST)
    pieces, below = [], 0.0
    for kind, size in ((kind, size) for kind, size in entry.parts if size):
        top, bottom = scale.level(below + size), scale.level(below)
        place = {"x": f"{left:.2f}%", "y": f"{top:.1f}", "width": f"{width:.2f}%"}
        title = tag("title", f"{entry.name}, {kind}: {_figure(size)} {unit}")
        pieces.append(tag("rect", title, class_=f"part {kind}", height=f"{bottom - top:.1f}", **place))
        below += size
    if named:
        middle = f"{left + width / 2:.2f}%"
        pieces.append(
            tag("text", entry.label or entry.name, x=middle, y=scale.height - 4, text_anchor="middle")
        )
    return tag("a", pieces, href=entry.address, aria_label=_said(entry, unit)) if entry.address else pieces


def _said(entry: Column, unit: str) -> str:
    return f"{entry.name}: {_figure(entry.height)} {unit}"


def _figure(size: float) -> str:
    return f"{size:,.0f}" if size >= 10 or size == int(size) else f"{size:.2f}"
