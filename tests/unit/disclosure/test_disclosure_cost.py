"""The bill: tiers by skill, the catalogue, and what static injection would cost."""

import json
import os

import pytest

from skillkit.core.resources import ResourcePage
from skillkit.disclosure import EncodingCounter, TokenEstimator, cost_report

BODY = "Read the file, then write a table with one row for each page of it.\n" * 80


def test_every_tier_of_every_skill_is_on_the_bill(write_skill, manager):
    folder = write_skill("large", BODY)
    (folder / "references").mkdir()
    (folder / "references" / "more.md").write_text(BODY)
    (folder / "logo.png").write_bytes(b"\0" * 1000)
    write_skill("small", "Be brief.\n")
    write_skill("private", BODY * 2, disable_model_invocation="true")
    report = cost_report(manager)
    by_id = {skill.id: skill for skill in report.skills}
    assert [skill.id for skill in report.skills] == ["private", "large", "small"]
    assert by_id["large"].files == 2
    assert by_id["large"].tier3 == TokenEstimator().count(BODY)
    assert by_id["small"].tier3 == 0
    assert by_id["large"].tier2 > by_id["small"].tier2 > 0
    assert all(skill.tier1 > 0 for skill in report.skills)
    assert [skill.offered for skill in report.skills] == [False, True, True]
    assert report.static == by_id["large"].tier2 + by_id["small"].tier2
    assert report.listed == 2
    assert 0 < report.saved < 1
    assert report.saved == pytest.approx(1 - report.catalogue / report.static)


def test_the_report_is_data(write_skill, manager):
    write_skill("pdf", BODY)
    data = json.loads(
        json.dumps(cost_report(manager, counter=EncodingCounter.named("cl100k_base")).to_data())
    )
    assert data["counter"] == "cl100k_base"
    assert data["skills"][0]["id"] == "pdf"
    assert set(data) == {
        "skills", "catalogue", "budget", "listed", "shortened", "unlisted", "static", "saved", "counter",
    }  # fmt: skip


def test_a_skill_that_cannot_be_read_does_not_stop_the_bill(write_skill, manager):
    folder = write_skill("gone", BODY)
    write_skill("pdf", BODY)
    manager.discover()
    os.remove(folder / "SKILL.md")
    assert {skill.id: skill.tier2 is None for skill in cost_report(manager).skills} == {
        "gone": True,
        "pdf": False,
    }


def test_a_long_file_is_counted_by_its_beginning(write_skill, manager):
    (write_skill("pdf") / "long.md").write_text(BODY * 60)
    (skill,) = cost_report(manager).skills
    assert skill.tier3 == pytest.approx(TokenEstimator().count(BODY * 60), rel=0.01)


def test_a_file_that_says_it_is_empty_and_is_not_costs_what_is_in_it(write_skill, manager, monkeypatch):
    """As files of other file systems do, and one that is written to at this moment."""
    (write_skill("pdf") / "log.txt").touch()
    page = ResourcePage("log.txt", "one two", 0, None, 0, "text/plain")
    monkeypatch.setattr(type(manager), "read_resource", lambda *_: page)
    assert cost_report(manager).skills[0].tier3 == TokenEstimator().count("one two")


def test_without_skills_there_is_nothing_to_pay_or_save(manager):
    report = cost_report(manager)
    assert (report.skills, report.catalogue, report.static, report.saved) == ((), 0, 0, 0.0)
