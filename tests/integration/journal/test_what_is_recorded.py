"""The library writes down what happens to skills, wherever it runs, once it is given a place."""

from pathlib import Path

import pytest

from skillkit import SkillManager
from skillkit.core.authority import DefaultAuthority, Grants, Requester, TrustEverySkill
from skillkit.core.models import SkillMetadata
from skillkit.install.installer import SkillInstaller
from skillkit.integrations import SkillTools
from skillkit.journal import JournalReader, Kind, SqliteJournal
from skillkit.journal.reading import EventFilter
from skillkit.journal.usage import usage_of

CLOCK = """
from skillkit.toolsets import AgentToolset

class Clock(AgentToolset):
    def tell(self, hour: int) -> str:
        "Tells the time."
        if hour > 24:
            raise ValueError("no such hour")
        return f"{hour} o'clock"
"""
REQUEST = "Write the release notes for version 2, please"


@pytest.fixture
def journal(tmp_path: Path) -> SqliteJournal:
    return SqliteJournal(tmp_path / "journal.sqlite")


@pytest.fixture
def manager(skills_dir: Path, write_skill, journal: SqliteJournal) -> SkillManager:
    write_skill("release-notes", "Read style.md first.", description="Write release notes of a version.")
    (skills_dir / "release-notes" / "style.md").write_text("Be brief.")
    (skills_dir / "release-notes" / "scripts").mkdir()
    (skills_dir / "release-notes" / "scripts" / "count.py").write_text("print('{\"n\": 1}')")
    write_skill("csv-report", description="Reports about CSV files with totals of columns.")
    found = SkillManager(
        project_skill_dir=skills_dir, anthropic_config_dir="", journal=journal, authority=TrustEverySkill()
    )
    found.discover()
    return found


async def test_a_turn_is_recorded_from_the_match_to_the_script(
    manager: SkillManager, journal: SqliteJournal
) -> None:
    tools = SkillTools(manager, approve=lambda name, arguments: True)
    tools.instructions(REQUEST)
    await tools.call("load_skill", {"skill_id": "csv-report"})
    await tools.call("read_skill_resource", {"skill_id": "release-notes", "path": "style.md"})
    await tools.call("read_skill_resource", {"skill_id": "release-notes", "path": "../secret"})
    run = {"skill_name": "release-notes", "script_name": "count", "args": ["--top", "3"]}
    await tools.call("script_run", run)
    tools.instructions("Thank you!")
    assert journal.flush()
    reader = JournalReader(journal.path)
    [conversation] = reader.conversations()
    events = [stored.event for stored in reader.conversation(conversation.id)]
    told = [(event.turn, event.kind, event.skill) for event in events if event.kind is not Kind.TOKENS]
    assert told == [
        (1, Kind.OFFERED, ""),
        (1, Kind.MATCHED, ""),
        (1, Kind.ACTIVATED, "release-notes"),
        (1, Kind.ACTIVATED, "csv-report"),
        (1, Kind.LOADED, "csv-report"),
        (1, Kind.READ, "release-notes"),
        (1, Kind.REFUSED, "release-notes"),
        (1, Kind.SCRIPT_ASKED, "release-notes"),
        (1, Kind.SCRIPT_GRANTED, "release-notes"),
        (1, Kind.SCRIPT_RUN, "release-notes"),
        (2, Kind.MATCHED, ""),
    ]
    offered, matched, activated, _, loaded, read, refused, asked, _, ran, _ = [
        e for e in events if e.kind is not Kind.TOKENS
    ]
    assert matched.data["matched"][0]["id"] == "release-notes"
    assert matched.data["matched"][0]["reasons"]
    assert offered.digest == matched.digest
    assert "csv-report" in offered.data["ids"]
    assert 0 < matched.data["line"] <= matched.data["matched"][0]["score"]
    assert activated.data["origin"] == "matched"
    assert activated.data["tokens"] > 0
    assert activated.digest
    assert asked.data == {"tool": "script_run", "script": "count"}
    assert read.data["path"] == "style.md"
    assert all(event.digest for event in (loaded, read, asked))
    assert ran.data["asked"] == {"network": False, "hosts": [], "env": [], "timeout": None}
    assert (refused.data["wanted"], refused.data["error"]) == ("read", "read_error")
    assert (ran.data["script"], ran.data["exit_code"], ran.digest != "") == ("scripts/count.py", 0, True)
    tokens = next(event for event in events if event.kind is Kind.TOKENS)
    assert tokens.data["total"] == tokens.data["catalogue"] + tokens.data["skills"] + tokens.data["tools"]


class NoScripts(DefaultAuthority):
    def grants(self, skill: SkillMetadata, digest: str, requester: Requester) -> Grants:
        return Grants(run=False, reason="Scripts are not allowed here")


async def test_a_no_of_the_user_and_one_of_the_authority_are_recorded(
    manager: SkillManager, journal: SqliteJournal
) -> None:
    run = {"skill_name": "release-notes", "script_name": "count"}
    await SkillTools(manager, approve=lambda name, arguments: False).call("script_run", run)
    manager.authority = NoScripts()
    await SkillTools(manager, approve=lambda name, arguments: True).call("script_run", run)
    assert journal.flush()
    events = [stored.event for stored in JournalReader(journal.path).oldest_first()]
    assert [event.kind for event in events] == [
        Kind.SCRIPT_ASKED,
        Kind.SCRIPT_DENIED,
        Kind.SCRIPT_ASKED,
        Kind.SCRIPT_GRANTED,
        Kind.SCRIPT_DENIED,
    ]
    by_user, by_authority = events[1], events[4]
    assert (by_user.data["script"], by_user.digest) == ("count", "")
    assert (by_authority.data["script"], by_authority.digest != "") == ("scripts/count.py", True)
    assert by_authority.data["reason"] == "Scripts are not allowed here"


async def test_a_call_of_a_toolset_is_recorded_with_the_skill_that_brings_it(
    skills_dir: Path, write_skill, journal: SqliteJournal
) -> None:
    write_skill("Clock_Work", description="Tells the time of day.", toolsets="[clock:Clock]")
    (skills_dir / "Clock_Work" / "clock.py").write_text(CLOCK)
    manager = SkillManager(
        project_skill_dir=skills_dir, anthropic_config_dir="", journal=journal, authority=TrustEverySkill()
    )
    manager.discover()
    tools = SkillTools(manager)
    await tools.call("load_skill", {"skill_id": "clock-work"})
    await tools.call("tell", {"hour": 3})
    await tools.call("tell", {"hour": 99})
    assert journal.flush()
    called = [
        found.event
        for found in JournalReader(journal.path).oldest_first(EventFilter(kinds=(Kind.TOOLSET_CALLED,)))
    ]
    assert [(event.skill, event.data["tool"], event.data["failed"]) for event in called] == [
        ("clock-work", "tell", False),
        ("clock-work", "tell", True),
    ]
    [usage] = [row for row in usage_of(called) if row.skill == "clock-work"]
    assert (usage.called, usage.failed) == (2, 1)


async def test_one_skill_has_one_name_however_it_is_spelt(
    skills_dir: Path, write_skill, journal: SqliteJournal
) -> None:
    write_skill("Clock_Work", description="Tells the time of day.")
    scripts = skills_dir / "Clock_Work" / "scripts"
    scripts.mkdir()
    (scripts / "tick.py").write_text("print(1)")
    manager = SkillManager(
        project_skill_dir=skills_dir, anthropic_config_dir="", journal=journal, authority=TrustEverySkill()
    )
    manager.discover()
    tools = SkillTools(manager, approve=lambda name, arguments: True)
    await tools.call("load_skill", {"skill_id": "CLOCK_work"})
    await tools.call("script_run", {"skill_id": "Clock_Work", "script_name": "tick"})
    assert journal.flush()
    rows = usage_of(stored.event for stored in JournalReader(journal.path).oldest_first())
    assert [(row.skill, row.loaded, row.run) for row in rows] == [("clock-work", 1, 1)]


def test_texts_are_kept_only_when_the_user_allows_it(
    manager: SkillManager, journal: SqliteJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    SkillTools(manager).instructions(REQUEST)
    monkeypatch.setenv("ENABLE_SENSITIVE_DATA", "true")
    SkillTools(manager).instructions(REQUEST)
    assert journal.flush()
    requests = [
        stored.event.data["request"]
        for stored in JournalReader(journal.path).oldest_first()
        if stored.event.kind is Kind.MATCHED
    ]
    assert requests[0] == {"length": len(REQUEST), "digest": requests[1]["digest"]}
    assert requests[1]["text"] == REQUEST


def test_without_a_place_nothing_is_recorded(skills_dir: Path, write_skill, own_home: Path) -> None:
    write_skill("release-notes", description="Write release notes of a version.")
    manager = SkillManager(project_skill_dir=skills_dir, anthropic_config_dir="")
    SkillTools(manager).instructions(REQUEST)
    assert not list(own_home.rglob("journal*"))


def test_a_conversation_that_goes_on_later_keeps_its_name(
    manager: SkillManager, journal: SqliteJournal
) -> None:
    from skillkit.disclosure import SkillSession

    first = SkillTools(manager)
    first.instructions(REQUEST)
    again = SkillTools(manager, SkillSession.from_data(first.conversation.session.to_data()))
    again.instructions("And for version 3")
    assert journal.flush()
    [conversation] = JournalReader(journal.path).conversations()
    assert conversation.turns == 2


def test_consents_and_what_is_installed_are_recorded(
    tmp_path: Path, skills_dir: Path, write_skill, journal: SqliteJournal
) -> None:
    folder = write_skill("release-notes", "First.")
    installer = SkillInstaller(tmp_path / "home", consent=lambda proposal: True, journal=journal)
    [first] = installer.add(str(folder))
    (folder / "SKILL.md").write_text("---\nname: release-notes\ndescription: d\n---\nSecond.\n")
    second = installer.update("release-notes")
    installer.revoke("release-notes")
    installer.remove("release-notes")
    assert journal.flush()
    told = [
        (event.kind, event.digest == second.digest, event.data.get("granted"))
        for event in (stored.event for stored in JournalReader(journal.path).oldest_first())
    ]
    assert told == [
        (Kind.CONSENTED, False, True),
        (Kind.INSTALLED, False, None),
        (Kind.CONSENTED, True, True),
        (Kind.UPDATED, True, None),
        (Kind.CONSENTED, True, False),
        (Kind.REMOVED, True, None),
    ]
    assert first.digest != second.digest
