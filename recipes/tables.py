"""Tables of the pages that are generated: evidence from benchmarks/results, settings from .env.example."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from recipes.pictures.charts import recorded

SETTINGS = Path(__file__).resolve().parents[1] / ".env.example"
SECTION = re.compile(r"# -+ (.+?) -*")
SETTING = re.compile(r"# ([A-Z][A-Z_]+)=(.*?)(?: +# (.+))?")
TABLE = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def with_tables(page: str) -> str:
    """`page` with every marked table written anew."""
    return TABLE.sub(lambda found: f"{found[1]}{TABLES[found[2]]()}\n{found[3]}", page)


def _peers() -> str:
    measured = recorded("peers")
    rows = [
        (
            row["library"],
            row["version"],
            f"{row['times']:.1f} ×",
            f"{row['harmless']} of {len(measured['bad'])}",
        )
        for row in sorted(measured["libraries"], key=lambda row: row["times"])
    ]
    heads = ("library", "version", f"time for {measured['skills']:,} skills", "bad files that harm no other")
    return _table(heads, rows, measured)


def _tokens() -> str:
    measured = recorded("disclosure")
    heads = ("skills", "list", "tools", "per request", "all", "all descriptions", "ids only")
    rows = [[f"{row[head]:,}" for head in heads] for row in measured["real"]]
    return _table(heads, rows, measured)


def _scripts() -> str:
    measured = recorded("scripts")
    ways = next(iter(measured["scripts"].values()))
    rows = [(script, *(f"{times[way]:.1f}" for way in ways)) for script, times in measured["scripts"].items()]
    return _table((measured["unit"], *ways), rows, measured)


def _defects() -> str:
    measured = recorded("evaluation")
    heads = ("kinds of defects", "skills", "planted", "found", "checks of unchanged skills", "false alarms")
    names = ("kinds", "skills", "planted", "found", "asked", "alarms")
    return _table(heads, [[f"{measured[name]:,}" for name in names]], measured)


def _matching(name: str) -> str:
    measured = recorded(name)
    heads = (
        "skills",
        "foreign requests that get a skill (worst library)",
        "right skill in sight",
        "right put in",
        "of what is put in, right",
        "no skill needed, one put in",
        "foreign / own requests",
    )
    rows = [
        (
            row["skills"],
            f"{row['foreign that get a skill']} ({row['worst library']})",
            *(str(row[head]) for head in ("in sight", "right put in", "of what is put in, right")),
            str(row["needless that get a skill"]),
            f"{row['foreign requests']:,} / {row['requests']:,}",
        )
        for row in measured["rows"]
    ]
    return _table(heads, rows, measured)


def _embedded() -> str:
    measured = recorded("embedded")
    return _table(("requests", "right"), [(str(measured["requests"]), str(measured["right"]))], measured)


def _settings() -> str:
    """A table for each section of .env.example."""
    lines = []
    for line in SETTINGS.read_text(encoding="utf-8").splitlines():
        if section := SECTION.fullmatch(line):
            lines += [f"\n## {section[1]}\n", "| variable | default or example | meaning |", "|---|---|---|"]
        elif setting := SETTING.fullmatch(line):
            name, value, meaning = setting.groups()
            cells = (f"`{name}`", f"`{value}`" if value else "", (meaning or "").replace("|", "\\|"))
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines).strip()


TABLES = {
    "peers": _peers,
    "tokens": _tokens,
    "scripts": _scripts,
    "defects": _defects,
    "matching-fetched": lambda: _matching("matching-fetched"),
    "matching-shared": lambda: _matching("matching-shared"),
    "embedded": _embedded,
    "settings": _settings,
}


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], measured: dict[str, str]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    body = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    return f"{body}\n\nMeasured on {measured['machine']}."
