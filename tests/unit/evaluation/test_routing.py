"""Requests with known answers: who won, by which words."""

import json

import pytest

from skillkit.evaluation.report import CaseOutcome
from skillkit.matching import SkillMatcher


@pytest.fixture
def library(write_skill):
    csv = write_skill("csv-report", "Count.\n", description="Summarise CSV files as a report.")
    write_skill("translate", "Speak.\n", description="Translate texts between languages.")
    (csv / "evals").mkdir()
    return csv / "evals"


def wrote(folder, cases, name="triggers.json"):
    (folder / name).write_text(json.dumps(cases))


def test_results_say_who_won_and_by_which_words(tester, library):
    wrote(
        library,
        [
            {"id": "hit", "query": "Make a report of this CSV", "should_trigger": True},
            {"id": "miss", "query": "Translate this text, please", "should_trigger": True},
            {"id": "quiet", "query": "How are you?", "should_trigger": False},
            {"id": "loud", "query": "Summarise these CSV files as a report", "should_trigger": False},
        ],
    )
    report = tester().run_routing()
    outcomes = {result.id: result.outcome for result in report.results}
    assert outcomes == {
        "hit": CaseOutcome.PASSED,
        "miss": CaseOutcome.FAILED,
        "quiet": CaseOutcome.PASSED,
        "loud": CaseOutcome.FAILED,
    }
    missed = next(result for result in report.results if result.id == "miss")
    assert "translate (" in missed.message
    assert "shares the words" in missed.message
    assert missed.data["alone"] is False
    measured = report.metrics["routing"]
    assert (measured["recall"], measured["precision"], measured["false_positives"]) == (0.5, 0.5, 0.5)
    assert measured["alone"] == {"cases": 2, "recall": 0.5}


def test_a_request_is_ranked_further_down_only_where_its_skill_did_not_match(tester, library, monkeypatch):
    wrote(
        library,
        [
            {"query": "Make a report of this CSV", "should_trigger": True},
            {"query": "Translate this text, please", "should_trigger": True},
        ],
    )
    asked, rank = [], SkillMatcher.rank
    monkeypatch.setattr(
        SkillMatcher, "rank", lambda self, text, limit: asked.append(text) or rank(self, text, limit)
    )
    tester().run_routing()
    assert set(asked) == {"Translate this text, please"}


def test_a_prompt_of_an_evaluation_warns_when_it_does_not_trigger(tester, library):
    wrote(library, {"skill_name": "csv-report", "evals": [{"id": 1, "prompt": "Do the usual"}]}, "evals.json")
    (result,) = tester().run_routing().results
    assert result.outcome is CaseOutcome.WARNED


def test_cases_of_nobody_are_told_and_not_guessed(tester, tmp_path):
    file = tmp_path / "cases.json"
    file.write_text('[{"query": "x", "should_trigger": true}]')
    report = tester(file).run_routing()
    assert report.results == ()
    assert "do not say which skill" in report.notes[0]


@pytest.mark.parametrize(
    "name", ["csv-report", "office:CSV_Report", "office/csv-report", "csv-report (the basics)"]
)
def test_a_skill_is_known_by_every_way_to_write_its_name(tester, library, name):
    wrote(library, [{"query": "Make a report of this CSV", "expected_skill": name}])
    (result,) = tester().run_routing().results
    assert (result.skill, result.outcome) == ("csv-report", CaseOutcome.PASSED), result.message


def test_a_skill_is_meant_by_its_folder_where_none_has_that_name(tester, write_skill):
    folder = write_skill("ledger-skill", header="name: ledger\ndescription: Adds up ledgers of shops.")
    (folder / "evals").mkdir()
    cases = [{"query": "add up the ledgers of my shops", "should_trigger": True}]
    (folder / "evals" / "triggers.json").write_text(json.dumps(cases))
    (result,) = tester().run_routing().results
    assert (result.skill, result.outcome) == ("ledger", CaseOutcome.PASSED), result.message


def test_a_negative_that_matches_where_no_skill_competes_is_a_warning(write_skill, tester):
    folder = write_skill("sales", description="Summarises CSV files of sales. Use for sales figures.")
    (folder / "evals").mkdir()
    cases = [{"query": "Delete the CSV files of sales", "should_trigger": False}]
    (folder / "evals" / "triggers.json").write_text(json.dumps(cases))
    report = tester().run_routing()
    (result,) = report.results
    assert result.outcome is CaseOutcome.WARNED
    assert "no other skill competes, and skillkit's lexical matcher decides by words" in result.message
