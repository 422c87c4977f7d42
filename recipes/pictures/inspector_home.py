"""A home as somebody has it after two weeks: installed skills, 200 requests, runs of scripts, tests."""

import random
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from skillkit.core.events import Event, Json, Kind, Writer
from skillkit.disclosure import SkillContextProvider, SkillSession
from skillkit.evaluation.archive import ReportArchive
from skillkit.evaluation.report import CaseOutcome, Report, Result, SkillUnderTest, Tier
from skillkit.install.enabled import EnabledSkills
from skillkit.journal import SqliteJournal

DAYS, REQUESTS = 14, 200
PROGRAM = [sys.executable, "-c", "from skillkit.agent.cli import main; main()"]
TEXTS = (
    "Turn this CSV into a report",
    "Write the release notes since v1.2.0",
    "What is in this CSV file?",
    "Write a commit message for my changes",
    "Make a poster for our summer party",
    "Extract the text of this PDF",
    "Merge these two PDF files",
    "Fill in the form in this PDF",
    "Build an Excel spreadsheet with last year's sales",
    "Make slides for the board meeting",
    "Write a Word document with the contract",
    "Review this React component",
    "Debug this failing test systematically",
    "Write a plan before you change the code",
    "Deploy this to production",
    "Create an animated GIF for Slack",
    "Brainstorm ideas before building this feature",
    "Check this page for accessibility",
    "What are the odds of a rate cut?",
    "Say hello to Alice",
    "What is 2 + 2?",
    "Thanks, that is all",
)


def fill(home: Path, installed: list[Path], project: list[Path], environment: dict[str, str]) -> None:
    """Install every skill of some repositories, put those of `project` into the project, and use them."""
    for repository in installed:
        _agent(home, environment, "skill", "add", str(repository), "--all", "--trusted", "--yes", "-q")
    for repository in project:
        subprocess.run(["git", "clone", "-q", str(repository), str(home / "clone")], check=True)
        (home / "skills").mkdir(exist_ok=True)
        for skill in sorted((home / "clone").rglob("SKILL.md")):
            if not (home / "skills" / skill.parent.name).exists():
                skill.parent.rename(home / "skills" / skill.parent.name)
    journal = SqliteJournal(home / ".agent" / "journal.sqlite", keep_days=36_500)
    enabled = EnabledSkills(home / ".agent", search=[], journal=_Dated(journal))
    _ask(enabled, journal)
    for event in _tests(home / ".agent" / "tests", _names(enabled)):
        journal.record(event)
    journal.close()


def _agent(home: Path, environment: dict[str, str], *arguments: str) -> None:
    subprocess.run([*PROGRAM, *arguments], cwd=home, env=environment, check=True, stdout=subprocess.DEVNULL)


def _names(enabled: EnabledSkills) -> list[str]:
    return [skill.name for skill in enabled.manager.offered_skills()]


class _Dated:
    """Writes events as if they had happened at another time."""

    now = 0.0

    def __init__(self, journal: Writer) -> None:
        self.journal = journal

    def record(self, event: Event) -> None:
        _Dated.now += 0.4
        self.journal.record(replace(event, time=_Dated.now))

    def close(self) -> None:
        self.journal.close()


def _ask(enabled: EnabledSkills, journal: SqliteJournal) -> None:
    """Make requests through the real provider, which records what it does, spread over two weeks."""
    chance = random.Random(7)
    provider = SkillContextProvider(enabled.manager)
    written = _Dated(journal)
    moments = sorted(time.time() - chance.random() ** 1.3 * DAYS * 86_400 for _ in range(REQUESTS))
    session = SkillSession()
    for number, moment in enumerate(moments):
        _Dated.now = moment
        if number % 3 == 0 or chance.random() < 0.2:
            session = SkillSession()
        messages = 60
        disclosed = provider.disclose([{"role": "user", "content": chance.choice(TEXTS)}], session)
        place = {"conversation": session.id, "turn": session.turn}
        for match in disclosed.matched:
            if "script" in match.skill.description.lower() or chance.random() < 0.35:
                written.record(Event(Kind.SCRIPT_RUN, match.skill.canonical_name, "", _run(chance), **place))
                messages += chance.randrange(100, 600)
        tokens = {**disclosed.tokens.to_data(), "system": 240, "messages": messages}
        tokens |= {"total": disclosed.tokens.total + 240 + messages, "output": chance.randrange(40, 300)}
        written.record(Event(Kind.MODEL_CALLED, data={"model": "a-model", "tokens": tokens}, **place))
    for skill in ("pdf", "webapp-testing"):
        data = {"wanted": "loaded", "origin": "model"}
        written.record(Event(Kind.REFUSED, skill, data=data, conversation=session.id, turn=session.turn))


def _run(chance: random.Random) -> dict[str, Json]:
    """A run that goes well, or as badly as runs go."""
    base: dict[str, Json] = {
        "script": chance.choice(("scripts/summarise.py", "scripts/check.py", "scripts/convert.sh")),
        "exit_code": 0,
        "duration_ms": chance.uniform(40, 4_000),
        "memory_bytes": chance.randrange(12, 240) << 20,
        "stdout_bytes": chance.randrange(200, 90_000),
        "stderr_bytes": 0,
        "backend": "bwrap",
        "asked": {"network": False, "hosts": ["api.example.com"], "env": ["REPORT_TOKEN"]},
        "grants": {"hosts": ["api.example.com"], "env": [], "write": [], "timeout": 60},
        "limits": {"timeout": 60.0, "output": 1 << 20, "memory": 1 << 30},
        "network": [
            {"host": "api.example.com", "port": 443, "allowed": True, "sent": 512, "received": 20_480}
        ],
        "output": {"length": 1204, "text": "month,total\nJanuary,1204\nFebruary,988\n"},
        "files": [{"name": "report.html", "bytes": 20_480}],
    }
    refused: list[Json] = [
        {"host": "tracker.example", "port": 443, "allowed": False, "reason": "not granted"}
    ]
    no_network: list[Json] = [
        {"host": "api.example.com", "port": 443, "allowed": True, "failed": True,
         "reason": "cannot be reached: no network"}
    ]  # fmt: skip
    failed: dict[str, Json] = {"error": "execution_failed", "exit_code": 1, "files": []}
    return chance.choice(
        [base] * 8
        + [
            {**base, **failed, "network": refused},
            {**base, **failed, "network": no_network},
            {**base, "error": "timeout", "exit_code": None, "duration_ms": 60_000.0, "files": []},
            {**base, **failed, "exit_code": 3, "errors": {"length": 40, "text": "error: column not found"}},
        ]
    )


def _tests(folder: Path, names: list[str]) -> list[Event]:
    events = []
    chance = random.Random(3)
    for number in range(12):
        skill = names[(number % 4) % len(names)]
        failed = chance.choice((0, 0, 1, 2)) if number < 8 else int(number % 4 == 2)
        results = tuple(
            Result(
                Tier.ROUTING,
                skill,
                f"case-{case}",
                CaseOutcome.FAILED if case < failed else CaseOutcome.PASSED,
                title=TEXTS[(case + number) % len(TEXTS)],
                message="another skill won" if case < failed else "",
                data={"request": TEXTS[(case + number) % len(TEXTS)]},
            )
            for case in range(8)
        )
        created = f"2026-01-{number + 1:02}T12:00:00Z"
        report = Report(results, (SkillUnderTest(skill, skill, "d" * 64),), created=created)
        data: dict[str, Json] = {
            "passed": 8 - failed,
            "failed": failed,
            "not_judged": 0,
            "not_run": 0,
            "pass_rate": (8 - failed) / 8,
            "tiers": ["routing"],
            "report": ReportArchive(folder).keep(report),
        }
        moment = time.time() - (12 - number) * 86_400
        events.append(Event(Kind.TESTED, skill, "d" * 64, data, time=moment))
    return events
