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


def _fleet() -> str:
    measured = recorded("fleet")
    rows = [
        ("p50 of a trivial script", *(f"{measured['p50_ms'][of]:.0f} ms" for of in ("local", "fleet"))),
        ("p99", *(f"{measured['p99_ms'][of]:.0f} ms" for of in ("local", "fleet"))),
        (
            "runs a second, at most 8 at once",
            *(f"{measured['runs_a_second'][of]:.0f}" for of in ("local", "fleet")),
        ),
        ("memory without a run", "", f"{measured['idle_megabytes']:.0f} MB"),
        ("cores without a run", "", f"{measured['idle_cores']:.2f}"),
    ]
    times = f"{measured['p50_ratio']:.2f} × the p50 of this machine, in {measured['pairs']} pairs"
    table = _table(("property", "this machine", "fleet"), rows, measured)
    return f"{table} Its load was {measured['load']:.0f} beforehand. A run costs {times}."


def _fleet_faults() -> str:
    measured = recorded("fleet-faults")
    rows = measured["rows"]
    heads = next(iter(rows.values()))
    cells = [(part, *(f"{row[head]:,}" for head in heads)) for part, row in rows.items()]
    return _table(("killed", *heads), cells, measured)


def _registry() -> str:
    measured = recorded("registry")
    return _table(measured["heads"], measured["rows"], measured)


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
    "fleet": _fleet,
    "fleet-faults": _fleet_faults,
    "registry": _registry,
    "settings": _settings,
}


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], measured: dict[str, str]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    body = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    return f"{body}\n\nMeasured on {measured['machine']}."
