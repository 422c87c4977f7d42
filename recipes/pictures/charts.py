"""Charts of what the benchmarks recorded in benchmarks/results."""

import json
from typing import Any

from benchmarks.measure import RESULTS

from recipes.pictures.drawing import Card

WIDTH = 900


def recorded(name: str) -> dict[str, Any]:
    numbers: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return numbers


def tokens() -> str:
    """Each library on a scale of its own: the whole of it in the prompt is a full bar."""
    libraries = recorded("disclosure")["libraries"]
    card = Card(
        WIDTH, 100 + 112 * len(libraries), "Tokens of a request, everything in the prompt and with skillkit"
    )
    _title(
        card,
        "What a request carries",
        "Tokens of instructions and tools (estimated), by the size of the library.",
    )
    for place, library in enumerate(libraries):
        y = 112 + 112 * place
        whole = library["static injection"]
        card.text(32, y + 50, f"{library['skills']:,} skills", size=16, bold=True)
        bars = (
            ("every skill in the prompt", whole, "other"),
            ("one skill fits", library["one skill fits"], "soft"),
            ("no skill fits", library["no skill fits"], "ours"),
        )
        for number, (what, count, kind) in enumerate(bars):
            label = f"{count:,}" if count == whole else f"{count:,} ({count / whole:.1%})"
            _bar(card, y + 30 * number, what, count / whole, label, kind=kind)
    return card.svg()


def scripts() -> str:
    numbers = recorded("scripts")
    names = {
        "true.sh": "exit 0 in a shell",
        "plain.py": "plain Python",
        "packages.py": "Python, two dependencies",
    }
    kinds = {
        "bare interpreter": "other",
        "uv run": "other",
        "skillkit, bwrap": "ours",
        "skillkit, landlock": "soft",
    }
    card = Card(
        WIDTH, 100 + 142 * len(names), "Time to run a script, bare, with uv run and in skillkit's sandbox"
    )
    _title(card, "What a script’s sandbox costs", f"{numbers['unit']}, taking turns; {numbers['machine']}.")
    longest = max(time for script in numbers["scripts"].values() for time in script.values())
    for place, (script, title) in enumerate(names.items()):
        y = 112 + 142 * place
        card.text(32, y + 62, title, size=15, bold=True)
        for number, (what, kind) in enumerate(kinds.items()):
            time = numbers["scripts"][script].get(what)
            if time is None:  # this machine has no such sandbox
                continue
            label = f"{time:.1f} ms"
            _bar(card, y + 30 * number, what.replace(", ", " · "), time / longest, label, kind=kind, at=380)
    return card.svg()


def _title(card: Card, title: str, below: str) -> None:
    card.text(32, 44, title, size=20, bold=True)
    card.text(32, 70, below, "faint")


def _bar(
    card: Card,
    y: float,
    what: str,
    share: float,
    label: str,
    *,
    kind: str,
    at: float = 340,
) -> None:
    """A named bar with its number behind it."""
    length = (WIDTH - at - 150) * share
    card.text(at - 12, y + 16, what, "faint", size=13, anchor="end")
    card.box(at, y, max(length, 1.5), 22, kind)
    card.text(at + length + 10, y + 16, label, size=14, bold=kind == "ours")
