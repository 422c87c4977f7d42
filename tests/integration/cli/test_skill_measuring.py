"""`agent skill cost` through the real program."""

import json

import pytest


@pytest.fixture
def library(tmp_path, write_skill):
    folder = tmp_path / "library"
    write_skill("csv-report", "Count.\n" * 200, description="Summarise CSV files as a report.", into=folder)
    write_skill("translate", "Speak.\n" * 100, description="Translate texts between languages.", into=folder)
    (folder / "csv-report" / "notes.md").write_text("A file of the third tier.\n" * 10)
    return folder


def test_cost_shows_every_tier_and_what_is_saved(run_agent, library):
    data = json.loads(run_agent("skill", "cost", "--in", library, "--json").stdout)
    costs = {skill["id"]: skill for skill in data["skills"]}
    assert costs["csv-report"]["tier1"] < costs["csv-report"]["tier2"]
    assert costs["csv-report"]["tier3"] > 0
    assert costs["translate"]["tier3"] == 0
    assert data["saved"] == pytest.approx(1 - data["catalogue"] / data["static"], abs=0.001)
    shown = run_agent("skill", "cost", "--in", library).stdout
    assert "█" in shown
    assert "Saved: " in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_cost_of_what_is_active_now(run_agent, library):
    arguments = ("skill", "cost", "--in", library, "--active", "--json")
    assert json.loads(run_agent(*arguments).stdout)["catalogue"] == 0
    active = json.loads(run_agent(*arguments, AGENT_SKILLS="all-untrusted").stdout)
    assert active["catalogue"] > 0
