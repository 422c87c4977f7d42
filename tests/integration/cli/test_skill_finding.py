"""`agent skill search` and `agent skill match` through the real program."""

import json

import pytest


@pytest.fixture
def library(tmp_path, write_skill):
    """Three skills in a folder that is given with --in."""
    folder = tmp_path / "library"
    write_skill("csv-report", description="Summarise CSV files and spreadsheets as a report.", into=folder)
    write_skill("release-notes", description="Write release notes for a new version.", into=folder)
    write_skill("translate", description="Translate texts between languages.", into=folder)
    return folder


def test_match_shows_ranking_scores_reasons_and_threshold(run_agent, library):
    shown = run_agent(
        "skill", "match", "Make a report of this CSV file", "--in", library, "--mode", "lexical"
    )
    assert shown.returncode == 0, shown.stderr
    assert "csv-report" in shown.stdout
    assert "match" in shown.stdout
    assert "threshold 0.50" in shown.stdout
    assert "Instructions put into the prompt: csv-report." in shown.stdout
    assert "To use 'csv-report': agent skill add ./library/csv-report\n" in shown.stdout
    table, _, _ = shown.stdout.partition("\n\n")
    assert max(map(len, table.splitlines())) <= 80


def test_match_says_what_would_be_injected(run_agent, library):
    arguments = ("skill", "match", "Make a report of this CSV file", "--in", library, "--json")
    inactive = json.loads(run_agent(*arguments).stdout)
    assert inactive["injected"] == ["csv-report"], "as if the skills of the folder were active"
    assert inactive["matches"][0]["refusal"]["code"] == "disabled"
    assert inactive["matches"][0]["refusal"]["remedy"].startswith("agent skill add ")
    active = json.loads(run_agent(*arguments, AGENT_SKILLS="all-untrusted").stdout)
    assert active["injected"] == ["csv-report"]
    assert active["matches"][0]["reasons"]
    assert 0 < active["threshold"] <= active["matches"][0]["score"] <= 1


def test_match_abstains_and_says_so(run_agent, library):
    data = json.loads(run_agent("skill", "match", "What is 2+2?", "--in", library, "--json").stdout)
    assert (data["matches"], data["injected"]) == ([], [])
    assert "No skill reaches" in data["explanation"]


def test_the_cap_is_explained_when_it_cuts(run_agent, library):
    request = "Translate the release notes and make a CSV report: /csv-report /release-notes"
    data = json.loads(run_agent("skill", "match", request, "--in", library, "-n", "1", "--json").stdout)
    assert len(data["matches"]) == 1
    assert data["cut"]
    assert "limit of 1 left out" in data["explanation"]


def test_search_ranks_and_finds_nothing_politely(run_agent, library):
    found = run_agent("skill", "search", "release", "--in", library, "--json")
    assert json.loads(found.stdout)["results"][0]["name"] == "release-notes"
    table = run_agent("skill", "search", "release", "--in", library)
    assert table.stdout.splitlines()[1].startswith("release-notes")
    nothing = run_agent("skill", "search", "qqqqzzzz", "--in", library, "--mode", "lexical")
    assert (nothing.returncode, nothing.stdout) == (0, "")
    assert "Nothing found" in nothing.stderr


def test_a_mode_that_does_not_exist_is_an_error_with_the_choices(run_agent, library):
    answer = run_agent("skill", "match", "x", "--in", library, "--mode", "magic")
    assert answer.returncode == 1
    assert "keyword, lexical, semantic, hybrid" in answer.stderr
