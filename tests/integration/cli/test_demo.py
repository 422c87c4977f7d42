"""`agent demo` does the whole job for real, on any machine, without a model."""

import csv
import re

import pytest

from skillkit.agent.cli import demo


@pytest.mark.parametrize("columns", ["80", "40"])
def test_it_shows_each_tier_and_what_the_script_finds_in_the_file(run_agent, columns: str) -> None:
    done = run_agent("demo", COLUMNS=columns, AGENT_SKILLS="none", OPENAI_BASE_URL="http://127.0.0.1:9")
    assert (done.returncode, done.stderr) == (0, "")
    steps = [line for line in done.stdout.splitlines() if re.match(r"\d\. ", line)]
    assert [line[:2] for line in steps] == ["1.", "2.", "3.", "4.", "5."]
    with (demo.SAMPLES / "sales.csv").open() as opened:
        rows = list(csv.DictReader(opened))
    units = sum(int(row["units"] or 0) for row in rows)
    assert f"{len(rows)} rows" in done.stdout
    assert f"total {units}," in done.stdout
    assert "has its keyword" in done.stdout
    assert done.stdout.count("agent ") >= len(demo.NEXT)


def test_its_instructions_are_those_of_the_skill(run_agent) -> None:
    body = (demo.SAMPLES / "csv-summary" / "SKILL.md").read_text().split("---")[2]
    shown = run_agent("demo", COLUMNS="200").stdout
    for line in filter(None, body.splitlines()):
        assert f"│ {line}" in shown
