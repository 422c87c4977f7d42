"""The pictures of the documentation, drawn from what the program says and the benchmarks measured."""

from collections.abc import Callable, Mapping
from pathlib import Path

from recipes.pictures import architecture, charts, sessions, tiers

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "pictures"
PICTURES: Mapping[str, Callable[[], str]] = {
    "three-tiers": tiers.draw,
    "architecture": architecture.draw,
    "tokens": charts.tokens,
    "scripts": charts.scripts,
    **{name: session.draw for name, session in sessions.SESSIONS.items()},
}
