"""A browser for the whole file, a library and a journal for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import browser
from inspecting import Inspecting, inspecting
from playwright.sync_api import Browser, Page

from skillkit.evaluation.archive import ReportArchive
from skillkit.evaluation.report import CaseOutcome, Report, Result, SkillUnderTest, Tier
from skillkit.journal import Event, Kind, SqliteJournal

__all__ = ["browser"]


def matched(conversation: str, turn: int) -> Event:
    data = {
        "request": {"length": 20},
        "matched": [{"id": "csv-report", "score": 0.91, "reasons": ["csv", "report"]}],
        "near": [{"id": "release-notes", "score": 0.31, "reasons": ["notes"]}],
        "line": 0.5,
    }
    return Event(Kind.MATCHED, data=data, conversation=conversation, turn=turn)


def tested(folder: Path) -> list[Event]:
    """Two runs of the tests of one skill, the second worse than the first."""
    events = []
    asked = {"request": "sums"}
    for number, outcome in enumerate((CaseOutcome.PASSED, CaseOutcome.FAILED)):
        result = Result(
            Tier.ROUTING, "csv-report", "sums", outcome, message="<b>release-notes won</b>", data=asked
        )
        under_test = SkillUnderTest("csv-report", "csv-report", "d")
        report = Report((result,), (under_test,), created=f"2026-01-0{number + 1}T00:00:00Z")
        name = ReportArchive(folder).keep(report)
        data = {"passed": 1 - number, "failed": number, "pass_rate": 1.0 - number, "report": name}
        data |= {"not_judged": 0, "not_run": 2 * number}
        events.append(Event(Kind.TESTED, "csv-report", "d", data))
    return events


@pytest.fixture
def running(own_home: Path, write_skill, skills_dir: Path) -> Iterator[Inspecting]:
    write_skill(
        "csv-report", "# How\n\nSum the columns of the CSV file.", description="Reports about CSV files."
    )
    write_skill("release-notes", "# How\n\nWrite notes.", description="Write release notes from commits.")
    (skills_dir / "csv-report" / "scripts").mkdir()
    (skills_dir / "csv-report" / "scripts" / "sum.py").write_text("import csv\nimport pandas\n")
    (skills_dir / "csv-report" / "references").mkdir()
    (skills_dir / "csv-report" / "references" / "report.md").write_text("## Totals\n")
    journal = SqliteJournal(own_home / ".agent" / "journal.sqlite")
    for event in (
        matched("talk-1", 1),
        Event(Kind.ACTIVATED, "csv-report", "d", {"origin": "matched", "tokens": 31}, "talk-1", 1),
        Event(
            Kind.TOKENS,
            data={"catalogue": 80, "skills": 31, "tools": 200, "total": 311},
            conversation="talk-1",
            turn=1,
        ),
        Event(
            Kind.SCRIPT_RUN,
            "csv-report",
            "d",
            {
                "script": "sum.py",
                "duration_ms": 12,
                "memory_bytes": 7 << 20,
                "backend": "bwrap",
                "exit_code": 1,
                "error": "execution_failed",
                "asked": {"hosts": ["api.example.com", "evil.example"], "env": ["TOKEN"]},
                "grants": {"hosts": ["api.example.com"], "timeout": 60},
                "limits": {"timeout": 60, "memory": 1 << 30},
                "network": [
                    {"host": "api.example.com", "port": 443, "allowed": True, "sent": 1, "received": 1},
                    {"host": "evil.example", "port": 443, "allowed": False, "reason": "not granted"},
                ],
            },
            "talk-1",
            1,
        ),
        *tested(own_home / ".agent" / "tests"),
    ):
        journal.record(event)
    journal.close()
    with inspecting(own_home, skills_dir) as started:
        yield started


@pytest.fixture
def page(browser: Browser, running: Inspecting) -> Iterator[Page]:
    context = browser.new_context(bypass_csp=False)
    opened = context.new_page()
    opened.set_default_timeout(30_000)
    opened.goto(running.address)
    yield opened
    context.close()
