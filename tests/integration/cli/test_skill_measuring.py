"""`agent skill eval` and `agent skill cost` through the real program."""

import json

import pytest


@pytest.fixture
def library(tmp_path, write_skill):
    folder = tmp_path / "library"
    write_skill("csv-report", "Count.\n" * 200, description="Summarise CSV files as a report.", into=folder)
    write_skill("translate", "Speak.\n" * 100, description="Translate texts between languages.", into=folder)
    (folder / "csv-report" / "notes.md").write_text("A file of the third tier.\n" * 10)
    return folder


def test_eval_reports_recall_and_confusions_of_one_skill(run_agent, library, tmp_path):
    cases = tmp_path / "cases.json"
    cases.write_text(
        json.dumps(
            [
                {"query": "Make a report of this CSV", "should_trigger": True},
                {"query": "Translate this text, please", "should_trigger": True},
                {"query": "How are you?", "should_trigger": False},
            ]
        )
    )
    arguments = ("skill", "eval", cases, "--skill", "CSV_Report", "--in", library, "--mode", "lexical")
    data = json.loads(run_agent(*arguments, "--json").stdout)
    assert (data["cases"], data["recall_at_1"], data["false_positives"]) == (3, 0.5, 0.0)
    assert [found["query"] for found in data["confusions"]] == ["Translate this text, please"]
    shown = run_agent(*arguments).stdout
    assert "recall@3" in shown
    assert "Translate this text, please" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_eval_takes_lines_of_queries_for_many_skills(run_agent, library, tmp_path):
    cases = tmp_path / "queries.jsonl"
    rows = [
        {"query": "Make a report of this CSV", "relevant": ["lib/csv-report"], "negative_for": []},
        {"query": "What is 2+2?", "relevant": [], "negative_for": ["lib/translate"]},
    ]
    cases.write_text("\n".join(json.dumps(row) for row in rows))
    answer = run_agent("skill", "eval", cases, "--in", library, "--mode", "lexical")
    assert answer.returncode == 0, answer.stderr
    assert "Every request was answered as it should be." in answer.stdout


def test_cases_inside_a_skill_are_about_that_skill(run_agent, library):
    cases = library / "csv-report" / "cases.json"
    cases.write_text('[{"query": "Make a report of this CSV", "should_trigger": true}]')
    answer = run_agent("skill", "eval", cases, "--in", library, "--mode", "lexical", "--json")
    assert json.loads(answer.stdout)["recall_at_1"] == 1.0


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[", "Cannot read"),
        ('[{"should_trigger": true}]', "query"),
        ('[{"query": "x", "should_trigger": true}]', "which skill"),
    ],
)
def test_cases_that_cannot_be_used_are_named(run_agent, library, tmp_path, text, complaint):
    cases = tmp_path / "cases.json"
    cases.write_text(text)
    answer = run_agent("skill", "eval", cases, "--in", library)
    assert answer.returncode == 1
    assert complaint in answer.stderr.replace("\n", " ")


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
