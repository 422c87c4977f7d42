"""Shapes and letters of charts: cards with a background of their own, readable on light and on dark pages."""

from html import escape

STYLE = """
text { font-family: ui-sans-serif, system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
.mono { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.card { fill: #ffffff; stroke: #d1d9e0; }
.ink { fill: #1f2328; }
.faint { fill: #59636e; }
.rule { stroke: #d1d9e0; }
.ours { fill: #0d9488; }
.soft { fill: #99d5cd; }
.other { fill: #b6bfc9; }
.hollow { fill: #0d948814; stroke: #0d9488; stroke-dasharray: 4 3; }
.layer { fill: #f1f5f6; stroke: #c5ced6; }
.arrow { fill: none; stroke: #59636e; stroke-width: 1.5; }
.head { fill: #59636e; }
@media (prefers-color-scheme: dark) {
  .card { fill: #161b22; stroke: #30363d; }
  .ink { fill: #e6edf3; }
  .faint { fill: #9198a1; }
  .rule { stroke: #30363d; }
  .ours { fill: #2dd4bf; }
  .soft { fill: #1f7a70; }
  .other { fill: #545d68; }
  .hollow { fill: #2dd4bf14; stroke: #2dd4bf; }
  .layer { fill: #1f262e; stroke: #3d444d; }
  .arrow { stroke: #9198a1; }
  .head { fill: #9198a1; }
}
"""


class Card:
    """A picture of fixed size; `svg()` is its text."""

    def __init__(self, width: int, height: int, label: str) -> None:
        self.width, self.height, self.label = width, height, label
        self._shapes: list[str] = []

    def text(
        self,
        x: float,
        y: float,
        words: str,
        kind: str = "ink",
        *,
        size: float = 14,
        bold: bool = False,
        anchor: str = "start",
    ) -> None:
        weight = ' font-weight="600"' if bold else ""
        self._shapes.append(
            f'<text class="{kind}" x="{x:g}" y="{y:g}" font-size="{size:g}"{weight} text-anchor="{anchor}">'
            f"{escape(words, quote=False)}</text>"
        )

    def box(self, x: float, y: float, width: float, height: float, kind: str, *, radius: float = 3) -> None:
        size = f'x="{x:.5g}" y="{y:.5g}" width="{width:.5g}" height="{height:.5g}" rx="{radius:g}"'
        self._shapes.append(f'<rect class="{kind}" {size}/>')

    def rule(self, x1: float, y1: float, x2: float, y2: float) -> None:
        self._shapes.append(f'<line class="rule" x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"/>')

    def arrow(self, *points: tuple[float, float]) -> None:
        """A line through the points with a head at the last one."""
        line = " ".join(f"{x:g},{y:g}" for x, y in points)
        self._shapes.append(f'<polyline class="arrow" points="{line}" marker-end="url(#head)"/>')

    def svg(self) -> str:
        shapes = "\n".join(self._shapes)
        return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" role="img" \
aria-label="{escape(self.label)}">
<style>{STYLE}</style>
<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">
<path class="head" d="M0 0L8 4L0 8z"/></marker></defs>
<rect class="card" x="0.5" y="0.5" width="{self.width - 1}" height="{self.height - 1}" rx="10"/>
{shapes}
</svg>
"""
