"""Pictures of the inspector: every page as a real browser shows it, over the example skills."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from skillkit.core.events import Json
from skillkit.evaluation.archive import ReportArchive
from skillkit.evaluation.report import CaseOutcome, Report, Result, SkillUnderTest, Tier
from skillkit.journal import Event, Kind, SqliteJournal

ROOT = Path(__file__).resolve().parents[2]
NOON = 1_767_268_800.0
WIDTH, HEIGHT = 1100, 760
PAGES = {
    "inspect-skills": "/",
    "inspect-skill": "/skill/csv-report",
    "inspect-request": "/request?q=Turn+this+CSV+into+a+report",
    "inspect-conversations": "/conversations",
    "inspect-conversation": "/conversation/march-totals?why=release-notes",
    "inspect-runs": "/runs",
    "inspect-run": "/run/6",
    "inspect-trust": "/trust",
    "inspect-tests": "/tests",
}


def draw(folder: Path, names: list[str]) -> None:
    """Write the pictures of `names`; says why when there is no browser."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        print("kept the pictures of the inspector: no chromium here (dev.py system installs it)")
        return
    from playwright.sync_api import expect, sync_playwright

    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        home = Path(place)
        _fill(home / ".agent")
        shutil.copytree(ROOT / "examples" / "skills", home / "skills")
        started = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
        page = started.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        with _inspecting(home) as address:
            page.goto(address)
            root = address.partition("/?")[0]
            for name in names:
                page.goto(root + PAGES[name])
                page.locator("h1").wait_for()
                expect(page.locator("body")).not_to_contain_text("counting …")
                page.screenshot(path=folder / f"{name}.png")
                print(f"drew docs/pictures/{name}.png")
        started.close()


def _fill(home: Path) -> None:
    """A journal of one morning."""
    journal = SqliteJournal(home / "journal.sqlite", keep_days=36_500)
    for event in [*_conversation("march-totals", NOON), *_tests(home / "tests")]:
        journal.record(event)
    journal.close()


def _conversation(name: str, start: float) -> list[Event]:
    """Three turns: a report that a skill makes, a question about it, thanks."""
    offered = {"count": 2, "ids": ["csv-report", "release-notes"], "refused": {"commit-message": "untrusted"}}
    csv = {"id": "csv-report", "score": 0.91, "reasons": ["has its keyword “csv”", "shares the word report"]}
    notes = {"id": "release-notes", "score": 0.12, "reasons": ["shares the word report"]}
    matched = {"request": {"length": 31}, "matched": [csv], "near": [notes], "line": 0.37}
    nothing = {"request": {"length": 9}, "matched": [], "near": [], "line": 0.37}
    return [
        Event(Kind.OFFERED, "", "an-offer", offered, name, 1, start),
        Event(Kind.MATCHED, "", "an-offer", matched, name, 1, start),
        Event(Kind.ACTIVATED, "csv-report", "", {"origin": "matched", "tokens": 410}, name, 1, start + 0.1),
        _answered(name, 1, start + 2, skills=410, messages=60),
        Event(
            Kind.SCRIPT_ASKED,
            "csv-report",
            "",
            {"tool": "script_run", "script": "summarise"},
            name,
            1,
            start + 3,
        ),
        Event(Kind.SCRIPT_RUN, "csv-report", "", _run(), name, 1, start + 4),
        Event(Kind.MATCHED, "", "an-offer", {**matched, "matched": [], "near": [csv]}, name, 2, start + 60),
        Event(Kind.READ, "csv-report", "", {"path": "references/report.md"}, name, 2, start + 61),
        _answered(name, 2, start + 63, skills=410, messages=540),
        Event(Kind.MATCHED, "", "an-offer", nothing, name, 3, start + 90),
        _answered(name, 3, start + 92, skills=410, messages=820),
    ]


def _answered(name: str, turn: int, moment: float, *, skills: int, messages: int) -> Event:
    parts = {"system": 240, "catalogue": 139, "skills": skills, "tools": 180, "messages": messages}
    tokens = {**parts, "total": sum(parts.values()), "output": 120}
    return Event(Kind.MODEL_CALLED, "", "", {"model": "a-model", "tokens": tokens}, name, turn, moment)


def _run() -> dict[str, Json]:
    return {
        "script": "scripts/summarise.py",
        "exit_code": 0,
        "duration_ms": 84.0,
        "memory_bytes": 19 << 20,
        "backend": "bwrap",
        "asked": {"network": False, "hosts": ["api.example.com"]},
        "grants": {"hosts": ["api.example.com"], "timeout": 60},
        "limits": {"timeout": 60, "memory": 512 << 20},
        "network": [
            {"host": "api.example.com", "port": 443, "allowed": True, "sent": 512, "received": 20480},
            {"host": "tracker.example", "port": 443, "allowed": False, "reason": "not granted"},
        ],
        "output": {"length": 1204, "digest": "5f1c"},
    }


def _tests(folder: Path) -> list[Event]:
    events = []
    for number, outcome in enumerate((CaseOutcome.FAILED, CaseOutcome.PASSED)):
        result = Result(Tier.ROUTING, "csv-report", "totals of a column", outcome)
        skills = (SkillUnderTest("csv-report", "csv-report"),)
        report = Report((result,), skills, created=f"2026-01-0{number + 1}T12:00:00Z")
        data = {"passed": number, "failed": 1 - number, "pass_rate": float(number)}
        data["report"] = ReportArchive(folder).keep(report)
        events.append(Event(Kind.TESTED, "csv-report", "", data, time=NOON + number * 3600))
    return events


@contextmanager
def _inspecting(home: Path) -> Iterator[str]:
    settings = {"HOME": str(home), "PATH": os.environ["PATH"], "AGENT_SKILLS": "all-untrusted", "TZ": "UTC"}
    command = [sys.executable, "-c", "from skillkit.agent.cli import main; main()", "inspect", "--no-open"]
    process = subprocess.Popen(
        [*command, "skills"], cwd=home, env=settings, text=True, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(timeout=30)
