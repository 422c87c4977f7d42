"""Sentences of the pages that have a number in them which was counted or measured."""

import re

from recipes.pictures import tiers
from recipes.pictures.charts import recorded

TIMES = r"[\d.]+ ×"


def sentences() -> list[tuple[re.Pattern[str], str]]:
    """How to find each sentence, and what it says today."""
    skills, catalogue = tiers.measured()
    [kalshi] = [skill for skill in skills if skill.name == "kalshi-markets"]
    entry, instructions = kalshi.entry, round(kalshi.instructions, -1)
    return [
        (re.compile(r"!\[Tokens of the three tiers[^\]]*\]"), f"![{tiers.description(skills, catalogue)}]"),
        (
            re.compile(r"about \d+ tokens of instructions, \d+ of catalogue entry"),
            f"about {instructions} tokens of instructions, {entry} of catalogue entry",
        ),
        (re.compile(r"^\| library \| 1,000 skills \|.*?(?=\n\n)", re.DOTALL | re.MULTILINE), _peers()),
        (re.compile(r"carries [\d,]+ tokens of ours(?: with|,)[^.]*\."), _request()),
        (
            re.compile(r"meant for other libraries, [\d.]+ % get a skill"),
            f"meant for other libraries, {_matching('foreign that get a skill')} % get a skill",
        ),
        (re.compile(rf"{TIMES} the bare interpreter; `uv run` {TIMES}"), _script()),
    ]


def _peers() -> str:
    """The table of libraries."""
    measured = recorded("peers")
    lines = [f"| library | {measured['skills']:,} skills | bad files that harm nobody |", "|---|---|---|"]
    for row in sorted(measured["libraries"], key=lambda row: row["times"]):
        name = f"**skillkit {row['version']}**" if row["library"] == "skillkit" else _named(row)
        lines.append(f"| {name} | {row['times']:.1f} × | {row['harmless']} of {len(measured['bad'])} |")
    return "\n".join(lines)


def _named(row: dict[str, str]) -> str:
    return row["library"] if row["library"].startswith("skillkit") else f"{row['library']} {row['version']}"


def _request() -> str:
    """What a request carries that needs no skill, in tokens, with real skills and what is named as near."""
    few, *_, many = recorded("disclosure")["real"]
    return (
        f"carries {few['all']:,} tokens of ours with {few['skills']} skills installed, "
        f"{many['all']:,} with {many['skills']:,}."
    )


def _matching(what: str) -> float:
    """A figure of the public libraries, with 10 skills."""
    [figure] = [row[what] for row in recorded("matching-fetched")["rows"] if row["skills"] == "10"]
    return figure


def _script() -> str:
    times = recorded("scripts")["scripts"]["plain.py"]
    ours, uv = (times[name] / times["bare interpreter"] for name in ("skillkit, bwrap", "uv run"))
    return f"{ours:.1f} × the bare interpreter; `uv run` {uv:.1f} ×"
