"""A report is plain data that reads back, compares, and becomes JUnit XML and annotations."""

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from skillkit.core.exceptions import ConfigurationError
from skillkit.evaluation import CaseOutcome, Problem, Report, Result, Tier, compare
from skillkit.evaluation.html_page import html_page
from skillkit.evaluation.rendering import github_annotations, junit_xml, rendered
from skillkit.evaluation.report import SkillUnderTest, merge


def result(identity, outcome, **more):
    return Result(Tier.ROUTING, "csv", identity, outcome, **more)


REPORT = Report(
    (
        result("a", CaseOutcome.PASSED),
        result("b", CaseOutcome.FAILED, message="x \x1b[31m<&>", problems=(Problem("p", "SKILL.md", 3),)),
        result("c", CaseOutcome.NOT_JUDGED),
        result("d", CaseOutcome.WARNED, message="w"),
    ),
    (SkillUnderTest("csv", "/skills/csv", "sha256:1"),),
    metrics={"routing": {"recall": 0.5}},
)


def test_a_report_reads_back_as_it_was_written():
    data = json.loads(json.dumps(REPORT.as_data()))
    assert Report.from_data(data) == REPORT
    assert (data["version"], data["counts"]["failed"], data["pass_rate"]) == (1, 1, 0.6667)


def test_what_two_tiers_could_not_read_is_said_once():
    part = replace(REPORT, unreadable=(Problem("holds no cases", "evals/x.json"),), notes=("n",))
    whole = merge(part, part)
    assert (len(whole.unreadable), whole.notes, len(whole.results)) == (1, ("n",), 8)


@pytest.mark.parametrize(
    ("change", "message"), [({"version": 9}, "version 9"), ({"format": "x"}, "Not a report")]
)
def test_a_report_of_another_kind_is_refused(change, message):
    with pytest.raises(ConfigurationError, match=message):
        Report.from_data({**REPORT.as_data(), **change})


def test_what_nobody_judged_counts_as_neither():
    assert Report((result("a", CaseOutcome.NOT_JUDGED),)).pass_rate is None


def test_comparison_names_what_got_worse_and_better():
    now = Report(
        (result("a", CaseOutcome.FAILED), result("b", CaseOutcome.PASSED), result("e", CaseOutcome.FAILED)),
        metrics={"routing": {"recall": 0.25}},
    )
    found = compare(REPORT, now)
    assert [one.id for one in found.worse] == ["a"]
    assert [one.id for one in found.better] == ["b"]
    assert [one.id for one in found.new] == ["e"]
    assert found.dropped == ("routing recall fell from 0.500 to 0.250",)
    assert found.is_worse
    assert not compare(REPORT, REPORT).is_worse


def test_junit_is_xml_whatever_a_message_holds():
    suite = ElementTree.fromstring(junit_xml(REPORT).encode()).find("testsuite")
    assert suite.attrib | {"time": ""} == {
        "name": "csv.routing",
        "tests": "4",
        "failures": "1",
        "errors": "0",
        "skipped": "1",
        "time": "",
    }


def test_annotations_point_into_the_repository():
    lines = github_annotations(REPORT, Path("/skills"))
    assert lines == [
        "::error file=csv/SKILL.md,line=3,title=csv routing b::p",
        "::warning file=csv/SKILL.md,title=csv routing d::w",
    ]


def test_sarif_names_rule_level_and_place(tmp_path):
    problem = Problem("is wrong", "SKILL.md", 3)
    results = (
        Result(Tier.STATIC, "pdf", "files-exist", CaseOutcome.FAILED, problems=(problem,)),
        Result(Tier.ROUTING, "pdf", "1", CaseOutcome.PASSED),
    )
    report = Report(results, (SkillUnderTest("pdf", str(tmp_path / "skills/pdf")),), tool="skillkit 1.2")
    log = json.loads(rendered(report, "sarif", tmp_path))
    [run] = log["runs"]
    assert (log["version"], run["tool"]["driver"]["version"]) == ("2.1.0", "1.2")
    [found] = run["results"]
    place = found["locations"][0]["physicalLocation"]
    assert (found["ruleId"], found["level"]) == ("static/files-exist", "error")
    assert place["artifactLocation"]["uri"] == "skills/pdf/SKILL.md"
    assert place["region"] == {"startLine": 3}


def test_sarif_has_uris_for_files_outside_the_repository_and_for_names_with_spaces(tmp_path):
    problem = Problem("is wrong", "a b.md", 3)
    results = [
        Result(Tier.STATIC, name, "x", CaseOutcome.FAILED, problems=(problem,)) for name in "in out".split()
    ]
    skills = (SkillUnderTest("in", str(tmp_path / "repo/in")), SkillUnderTest("out", str(tmp_path / "out")))
    log = json.loads(rendered(Report(tuple(results), skills), "sarif", tmp_path / "repo"))
    places = [found["locations"][0]["physicalLocation"] for found in log["runs"][0]["results"]]
    outside = (tmp_path.resolve() / "out").as_uri()
    assert [place["artifactLocation"]["uri"] for place in places] == ["in/a%20b.md", f"{outside}/a%20b.md"]


def test_the_page_counts_tokens_in_tokens_where_a_program_reports_none():
    measured = {
        "with_skill": 1.0,
        "without_skill": 0.0,
        "with_skill_tokens": 0.0,
        "without_skill_tokens": 0.0,
    }
    page = html_page(Report((), metrics={"behaviour": measured}))
    assert "0.0 tokens" in page
    assert page.count("0.0%") == 2  # of 100.0% and 0.0%, the pass rates


def test_the_page_says_a_problem_that_is_the_message_once():
    problems = (Problem("lacks May"), Problem("lacks June"), Problem("lacks June"))
    result = Result(Tier.BEHAVIOUR, "sales", "1", CaseOutcome.FAILED, "", "lacks May", problems)
    page = html_page(Report((result,)))
    assert (page.count("lacks May"), page.count("lacks June")) == (1, 1)


def test_the_page_has_the_whole_transcript():
    run = {
        "answer": "Total: <7>",
        "calls": [{"name": "read", "arguments": "sales.csv", "result": "may,7"}],
        "grades": [
            {"text": "Is short", "compiled": None, "kind": "statement", "passed": None, "evidence": ""}
        ],
        "passed": None,
        "error": "",
    }
    data = {"prompts": ["Add up sales.csv"], "with": [run], "without": []}
    result = Result(Tier.BEHAVIOUR, "sales", "1", CaseOutcome.NOT_JUDGED, data=data)
    page = html_page(Report((result,), metrics={"behaviour": {"flaky": ["sums"]}}))
    for text in ("Add up sales.csv", "may,7", "Total: &lt;7&gt;", "not judged", "sometimes: sums"):
        assert text in page
    assert "http" not in page
    assert "<script" not in page
