"""Home names what waits for the user, each with the one command; a request can be tried under assumptions."""

import sqlite3
from pathlib import Path

import pytest

from skillkit.inspector.attention import needs
from skillkit.inspector.library import Library
from skillkit.inspector.pages import conversations, home, request
from skillkit.inspector.pages.events import outcome
from skillkit.install.enabled import EnabledSkills
from skillkit.install.selection import change_selection
from skillkit.journal import Event, Kind, SqliteJournal

TEXT = "Design a poster and a flyer"


@pytest.fixture
def library(own_home: Path, tmp_path: Path, write_skill, monkeypatch: pytest.MonkeyPatch) -> Library:
    """A project with a skill that fits and is not trusted, one that is enabled, and a broken one."""
    folder = tmp_path / "skills"
    write_skill("poster", description="Design a poster. Use for posters and flyers.", into=folder)
    write_skill("report", description="Write a report.", into=folder)
    write_skill("broken", header="name: [", into=folder)
    monkeypatch.chdir(tmp_path)
    path = own_home / ".agent" / "journal.sqlite"
    journal = SqliteJournal(path)
    journal.record(Event(Kind.MATCHED, data={"request": {"text": TEXT}}, conversation="talk", turn=1))
    journal.record(Event(Kind.TESTED, "report", data={"failed": 2}))
    journal.close()
    library = Library(lambda: EnabledSkills(bundled=False), path)
    change_selection(library.enabled.registry, lambda chosen: chosen.with_names(["report", "gone"]))
    library.look_again()
    assert library.snapshot().checks.wait(60)
    return library


def test_each_thing_that_waits_has_its_command(library: Library) -> None:
    library.overlooked()
    assert library.tried_again.wait(60)
    found = {need.skill or need.what.split(":")[0]: need for need in needs(library)}
    poster = found["poster"]
    assert poster.what.startswith(f"fits “{TEXT}”")
    assert poster.status is not None
    assert poster.status.refusal is not None
    assert poster.status.refusal.remedy == "agent skill trust poster"
    assert found["report"].command == "agent skill test report"
    assert any(need.command.startswith("agent skill validate ") for need in needs(library))
    assert any("gone" in need.what for need in needs(library))


def test_a_request_names_the_skill_that_fits_and_its_one_command(library: Library) -> None:
    made = request.show(library, {"q": TEXT, "part": "result"})
    assert "No skill is put into the prompt." in made
    assert "agent skill trust poster" in made
    assert "active=poster" in made
    tried = request.show(library, {"q": TEXT, "active": "poster", "part": "result"})
    assert "What if: poster is put in instead of no skill." in tried
    assert "What poster does" not in tried
    assert library.provider().disclose(TEXT).matched == ()


def test_a_skill_behind_another_one_fits_no_request(library: Library, tmp_path: Path, write_skill) -> None:
    write_skill("flyer", description="Design a flyer.", into=tmp_path / "skills")
    library.refresh()
    library.look_again()
    scores = {match.skill.name: match.score for match in library.matcher(known=True).rank(TEXT)}
    assert scores["poster"] > scores["flyer"] >= library.matcher().threshold
    assert [match.skill.name for match in library.missed(TEXT)] == ["poster"]
    library.overlooked()
    assert library.tried_again.wait(60)
    assert "flyer" not in {need.skill for need in needs(library)}


def test_home_lists_all_that_waits_and_says_why_updates_are_not_there(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(home, "SHOWN", 1)
    library.overlooked()
    assert library.tried_again.wait(60)
    made = home.show(library)
    assert "this page asks no server" in made
    first, rest = made.split('<details id="more-needs">')
    assert "agent skill trust poster" in first
    assert "agent skill test report" in rest
    assert "agent skill validate " in rest
    assert "Enabled, but not found: gone" in rest


def test_home_says_that_texts_are_not_kept(own_home: Path) -> None:
    path = own_home / ".agent" / "journal.sqlite"
    journal = SqliteJournal(path)
    journal.record(Event(Kind.MATCHED, data={"request": {"length": 9}}, conversation="talk", turn=1))
    journal.close()
    made = home.show(Library(lambda: EnabledSkills(bundled=False), path))
    assert "Nothing needs your attention." in made
    assert "Which skills would have fitted is not known" in made


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"exit_code": 0}, "succeeded"),
        ({"error": "timeout", "limits": {"timeout": 60.0}}, "timed out after 60 s"),
        ({"error": "execution_failed", "exit_code": 3}, "failed with exit code 3"),
        (
            {"error": "execution_failed", "network": [{"host": "api.example.com", "allowed": False}]},
            "blocked by the sandbox: api.example.com",
        ),
        (
            {"error": "x", "network": [{"allowed": True, "failed": True, "reason": "…: no network"}]},
            "no network",
        ),
    ],
)
def test_outcomes_are_words(data: dict, words: str) -> None:
    assert f">{words}<" in outcome(Event(Kind.SCRIPT_RUN, data=data))


def test_conversations_are_called_by_their_first_words_or_by_time_and_skills(library: Library) -> None:
    with sqlite3.connect(library.journal.path) as database:
        row = (
            "INSERT INTO event (time, kind, conversation, turn, skill, digest, data) VALUES (0,?,?,1,?,'',?)"
        )
        database.execute(row, ("matched", "odd", "poster", "no JSON at all"))
        database.execute(row, ("matched", "untold", "report", '{"request": {"length": 9}}'))
    database.close()
    found = {one.id: one.opening for one in library.journal.conversations()}
    assert found == {"talk": TEXT, "odd": "", "untold": ""}
    made = conversations.show(library, {})
    assert f'<a href="/conversation/talk">{TEXT}</a>' in made
    assert " · report</a>" in made
    one = conversations.show_one(library, "talk", {})
    assert f"<h1>{TEXT}</h1>" in one
