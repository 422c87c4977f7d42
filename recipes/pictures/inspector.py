"""Pictures of the inspector: every page as a real browser shows it, over the example skills."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from skillkit.evaluation.archive import ReportArchive
from skillkit.evaluation.report import Outcome, Report, Result, SkillUnderTest, Tier
from skillkit.journal import Event, Kind, SqliteJournal

ROOT = Path(__file__).resolve().parents[2]
NOON = 1_767_268_800.0
WIDTH, HEIGHT = 1000, 640
PAGES = {
    "inspect-skills": "/",
    "inspect-skill": "/skill/csv-report",
    "inspect-request": "/request?q=Turn+this+CSV+into+a+report",
    "inspect-conversations": "/conversations",
    "inspect-conversation": "/conversation/march-totals?why=release-notes",
    "inspect-runs": "/runs",
    "inspect-trust": "/trust",
    "inspect-tests": "/tests",
}


def draw(folder: Path, names: list[str]) -> None:
    """Write the pictures of `names`; says why when there is no browser."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        print("kept the pictures of the inspector: no chromium here (dev.py system installs it)")
        return
    from playwright.sync_api import sync_playwright

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
    matched = {
        "request": {"length": 31},
        "matched": [{"id": "csv-report", "score": 0.91, "reasons": ["csv", "report"]}],
        "near": [{"id": "release-notes", "score": 0.12, "reasons": ["report"]}],
        "line": 0.37,
    }
    tokens = {"system": 240, "skills": 410, "tools": 180, "messages": 60, "total": 890, "output": 120}
    run = {"script": "scripts/summarise.py", "exit_code": 0, "duration_ms": 84.0, "backend": "bwrap"}
    asked = {"tool": "script_run", "script": "summarise"}
    return [
        Event(Kind.MATCHED, data=matched, conversation=name, turn=1, time=start),
        Event(Kind.ACTIVATED, "csv-report", "", {"origin": "matched", "tokens": 410}, name, 1, start + 0.1),
        Event(Kind.MODEL_CALLED, "", "", {"model": "a-model", "tokens": tokens}, name, 1, start + 2),
        Event(Kind.SCRIPT_ASKED, "csv-report", "", asked, name, 1, start + 3),
        Event(Kind.SCRIPT_RUN, "csv-report", "", run, name, 1, start + 4),
    ]


def _tests(folder: Path) -> list[Event]:
    events = []
    for number, outcome in enumerate((Outcome.FAILED, Outcome.PASSED)):
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
