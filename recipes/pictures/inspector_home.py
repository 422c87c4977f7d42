"""A home as somebody has it after two weeks: installed skills, 200 requests, runs of scripts, tests."""

import asyncio
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from skillkit._version import __version__
from skillkit.agent.instructions import INSTRUCTIONS
from skillkit.core.digest_memo import tree_digests
from skillkit.core.events import Event, Json, Kind, Writer
from skillkit.core.models import SkillMetadata
from skillkit.disclosure import SkillSession
from skillkit.disclosure.tokens import TokenEstimator
from skillkit.evaluation.archive import ReportArchive
from skillkit.evaluation.cases import Case, Routing
from skillkit.evaluation.report import BAD, GOOD, Report, SkillUnderTest
from skillkit.evaluation.routing import route, routed_cases
from skillkit.install.enabled import EnabledSkills
from skillkit.integrations.default_tools import default_provider
from skillkit.journal import SqliteJournal
from skillkit.matching import SkillMatcher
from skillkit.scripts.catalogue import find_scripts

REPOSITORIES = ("anthropics/skills", "obra/superpowers", "vercel-labs/agent-skills")
"""The last is in the project, and so neither enabled nor trusted."""
DAYS, REQUESTS = 14, 200
RECENT = 40
"""Requests whose scripts all succeed."""
SHOWN = "pdf"
"""The skill whose page is shown; its scripts succeed too."""
TOOL = f"skillkit {__version__}"
PROGRAM = [sys.executable, "-c", "from skillkit.agent.cli import main; main()"]
TEXTS = (
    "Turn this CSV into a report",
    "Write the release notes since v1.2.0",
    "What is in this CSV file?",
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
    "What are the odds that the Fed cuts rates?",
    "What is 2 + 2?",
    "Thanks, that is all",
)
TESTED = {
    "pdf": (
        "Extract the text of this PDF",
        "Merge these two PDF files",
        "Fill in the form in this PDF",
        "Split the PDF into one file for each page",
        "Rotate the pages of this PDF",
    ),
    "slack-gif-creator": (
        "Create an animated GIF for Slack",
        "Make a Slack emoji that dances",
        "Animate our logo as a GIF for Slack",
    ),
    "xlsx": (
        "Build an Excel spreadsheet with last year's sales",
        "Add a formula to this spreadsheet",
        "Clean up this .xlsx file",
    ),
    "systematic-debugging": (
        "Debug this failing test systematically",
        "Why does this test fail? Find the bug",
    ),
}
THRESHOLDS = (0.8, 0.65, 0.5)
"""Of the rounds of tests: the first ones miss requests that the last one finds."""


def fill(home: Path, repositories: list[Path], environment: dict[str, str]) -> None:
    """Install the skills of the first repositories, put those of the last into the project, and use them."""
    for name, repository in zip(REPOSITORIES, repositories, strict=True):
        subprocess.run(["git", "clone", "-q", str(repository), str(home / name)], check=True)
    for name in REPOSITORIES[:-1]:
        _agent(home, environment, "skill", "add", f"./{name}", "--all", "--trusted", "--yes", "-q")
    _agent(home, environment, "skill", "enable", "kalshi-markets")
    (home / "skills").mkdir()
    for skill in sorted((home / REPOSITORIES[-1]).rglob("SKILL.md")):
        skill.parent.rename(home / "skills" / skill.parent.name)
    journal = SqliteJournal(home / ".agent" / "journal.sqlite", keep_days=36_500)
    dated = _Dated(journal)
    enabled = EnabledSkills(home / ".agent", search=[], journal=dated)
    asyncio.run(_ask(enabled, dated))
    for event in _tests(enabled, home / ".agent" / "tests"):
        journal.record(event)
    journal.close()


def _agent(home: Path, environment: dict[str, str], *arguments: str) -> None:
    subprocess.run([*PROGRAM, *arguments], cwd=home, env=environment, check=True, stdout=subprocess.DEVNULL)


class _Dated:
    """Writes events as if they had happened at another time."""

    def __init__(self, journal: Writer) -> None:
        self.journal = journal
        self.now = 0.0

    def record(self, event: Event) -> None:
        self.now += 0.4
        self.journal.record(replace(event, time=self.now))

    def close(self) -> None:
        self.journal.close()


async def _ask(enabled: EnabledSkills, written: _Dated) -> None:
    """Make requests through the real provider, which records what it does, spread over two weeks."""
    chance = random.Random(7)
    provider, matcher = default_provider(enabled.manager), SkillMatcher(enabled.manager.list_skills())
    own = TokenEstimator().count(INSTRUCTIONS)
    moments = sorted(time.time() - chance.random() ** 1.3 * DAYS * 86_400 for _ in range(REQUESTS))
    session = SkillSession()
    history: list[dict[str, str]] = []
    for number, moment in enumerate(moments):
        written.now = moment
        if number % 3 == 0 or chance.random() < 0.2:
            session, history = SkillSession(), []
        text = chance.choice(TEXTS)
        history.append({"role": "user", "content": text})
        disclosed = provider.disclose(history, session)
        best = next(iter(matcher.match(text)), None)
        load = provider.tool("load_skill", session)
        if best is not None and load is not None and chance.random() < 0.3:
            await load.handler(skill_id=best.skill.canonical_name)  # some are refused: they are not trusted
        for match in disclosed.matched:
            fails = number < REQUESTS - RECENT and match.skill.name != SHOWN
            if (run := _run(match.skill, chance, fails=fails)) and chance.random() < 0.7:
                digest = tree_digests.plain(match.skill.base_dir).digest
                event = Event(Kind.SCRIPT_RUN, match.skill.canonical_name, digest, run)
                written.record(replace(event, conversation=session.id, turn=session.turn))
        tokens: dict[str, Json] = {
            **disclosed.tokens.to_data(),
            "system": own,
            "messages": 60 + chance.randrange(100, 600),
        }
        tokens["output"] = chance.randrange(40, 300)
        data: dict[str, Json] = {"model": "a-model", "tokens": tokens}
        written.record(Event(Kind.MODEL_CALLED, data=data, conversation=session.id, turn=session.turn))
        history.append({"role": "assistant", "content": "Done."})


def _run(skill: SkillMetadata, chance: random.Random, *, fails: bool) -> dict[str, Json]:
    """Return a run of one of the skill's scripts that goes well or, if it `fails`, as badly as runs go."""
    scripts = [script for script in find_scripts(skill) if script.relative_path.count("/") == 1]
    if not scripts:
        return {}
    hosts: list[Json] = [host for host in skill.permissions.hosts if not host.startswith("$")]
    said = '{"status": "open", "yes_bid": 62, "yes_ask": 64, "volume": 48210}\n'
    if not hosts:
        said = "12 pages read, 4 fields found, 3 filled in\n"
    asked: dict[str, Json] = {"network": False, "hosts": hosts}
    base: dict[str, Json] = {
        "script": chance.choice(scripts).relative_path,
        "exit_code": 0,
        "duration_ms": chance.uniform(40, 4_000),
        "memory_bytes": chance.randrange(12, 240) << 20,
        "stdout_bytes": chance.randrange(200, 90_000),
        "stderr_bytes": 0,
        "backend": "bwrap",
        "asked": asked,
        "grants": {**asked, "env": [], "write": [], "timeout": 60},
        "limits": {"timeout": 60.0, "output": 1 << 20, "memory": 1 << 30},
        "network": [
            {"host": host, "port": 443, "allowed": True, "sent": 512, "received": 20_480} for host in hosts
        ],
        "files": [] if hosts else [{"name": "filled.pdf", "bytes": 20_480}],
        "output": {"length": len(said), "text": said},
    }
    blocked: list[Json] = [{"host": "pypi.org", "port": 443, "allowed": False, "reason": "not granted"}]
    failed: dict[str, Json] = {"error": "execution_failed", "exit_code": 1}
    said = "error: no such file: a.pdf"
    outcomes: list[dict[str, Json]] = [
        {**base, **failed, "network": blocked},
        {**base, "error": "timeout", "exit_code": None, "duration_ms": 60_000.0},
        {**base, **failed, "errors": {"length": len(said), "text": said}},
    ]
    return chance.choice([base] * 8 + outcomes * fails)


def _tests(enabled: EnabledSkills, folder: Path) -> Iterator[Event]:
    """Route the requests of every round among the real skills."""
    skills = enabled.manager.offered_skills()
    for number, threshold in enumerate(THRESHOLDS):
        matcher = SkillMatcher(skills, threshold=threshold)
        for place, (name, texts) in enumerate(TESTED.items()):
            moment = time.time() - (len(THRESHOLDS) - number) * 3 * 86_400 + place * 600
            status = enabled.status(enabled.manager.get_skill(name))
            digest = status.trust.digest or ""
            cases = [Case(text, (text,), skill=name, routing=Routing((name,))) for text in texts]
            results = tuple(route(matcher, case) for case in routed_cases(cases, name))
            created = datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            under_test = SkillUnderTest(name, str(status.skill.base_dir), digest)
            kept = ReportArchive(folder).keep(Report(results, (under_test,), created=created, tool=TOOL))
            good, bad = (sum(one.outcome in kind for one in results) for kind in (GOOD, BAD))
            data: dict[str, Json] = {"passed": good, "failed": bad, "not_judged": 0, "not_run": 0}
            data |= {"pass_rate": good / len(results), "tiers": ["routing"], "report": kept}
            yield Event(Kind.TESTED, name, digest, data, time=moment)
