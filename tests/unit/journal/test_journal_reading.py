"""What can be asked of a journal: pages, filters, conversations, usage."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from skillkit.core.exceptions import StateFileError
from skillkit.journal import Event, EventFilter, JournalReader, Kind, SqliteJournal, in_turn
from skillkit.journal.usage import usage_in


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "journal.sqlite"


def written(path: Path, *events: Event, **settings) -> JournalReader:
    journal = SqliteJournal(path, **settings)
    for event in events:
        journal.record(event)
    journal.close()
    assert journal.problem is None
    return JournalReader(path)


def test_events_come_back_as_they_were_newest_first(path: Path) -> None:
    first = Event(Kind.LOADED, "pdf", "d1", {"origin": "model"}, "c1", 2, 10.0**9 + 2e9)
    second = Event(Kind.READ, "pdf", "d1", {"path": "a/b.md", "bytes": 7}, "c1", 3, 10.0**9 + 2e9 + 1)
    reader = written(path, first, second)
    assert [stored.event for stored in reader.events()] == [second, first]
    assert [stored.event for stored in reader.since(reader.events()[-1].id)] == [second]
    line = json.loads(next(reader.export()))
    assert (line["kind"], line["skill"], line["data"]) == ("loaded", "pdf", {"origin": "model"})


def test_no_journal_is_an_empty_one(path: Path) -> None:
    reader = JournalReader(path)
    assert (reader.events(), reader.conversations(), list(reader.export()), usage_in(reader)) == (
        [],
        [],
        [],
        [],
    )
    assert reader.stats().events == 0
    assert not path.exists()


def test_pages_and_filters(path: Path) -> None:
    events = [
        Event(Kind.LOADED if n % 2 else Kind.READ, f"s{n % 3}", data={"n": f"x{n}_y"}) for n in range(50)
    ]
    reader = written(path, *events)
    seen, before = [], None
    while page := reader.events(before=before, limit=7):
        seen += [stored.event.data["n"] for stored in page]
        before = page[-1].id
    assert seen == [f"x{n}_y" for n in reversed(range(50))]
    assert len(reader.events(EventFilter(kinds=(Kind.LOADED,), skill="s0"), limit=99)) == 8
    assert [stored.event.data["n"] for stored in reader.events(EventFilter(text="x4_"))] == ["x4_y"]
    assert reader.events(EventFilter(text="%")) == []
    assert reader.stats().by_kind == {"loaded": 25, "read": 25}


def test_an_event_takes_its_place_from_the_call_that_caused_it(path: Path) -> None:
    with in_turn("talk-1", 4):
        reader = written(path, Event(Kind.LOADED, "pdf"), Event(Kind.READ, "csv"))
    [summary] = reader.conversations()
    assert (summary.id, summary.turns, summary.events, summary.skills) == ("talk-1", 1, 2, ("csv", "pdf"))
    assert [stored.event.turn for stored in reader.conversation("talk-1")] == [4, 4]


def test_old_events_go_and_then_the_oldest_until_the_rest_fits(path: Path) -> None:
    old = Event(Kind.LOADED, "old", time=1.0)
    written(path, old, Event(Kind.LOADED, "new"))
    reader = written(path, Event(Kind.LOADED, "newer"), keep_days=90)
    assert {stored.event.skill for stored in reader.events()} == {"new", "newer"}
    big = [Event(Kind.READ, f"s{n}", data={"text": "x" * 4000}) for n in range(400)]
    written(path, *big)
    reader = written(path, Event(Kind.LOADED, "last"), max_bytes=400_000)
    kept = [stored.event.skill for stored in reader.events(limit=1000)]
    assert kept[:2] == ["last", "s399"]
    assert 20 < len(kept) < 120


def test_what_somebody_else_wrote_into_the_file_is_shown_and_breaks_nothing(path: Path) -> None:
    import sqlite3

    reader = written(path, Event(Kind.LOADED, "pdf"))
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "INSERT INTO event (time, kind, conversation, turn, skill, digest, data)"
            " VALUES (1, 'invented', '', 0, '<b>', '', '[1'),"
            " (2, 'matched', '', 0, '', '', '{\"matched\": 7}')"
        )
    kinds = [stored.event.kind for stored in reader.events()]
    assert kinds == [Kind.MATCHED, Kind.UNKNOWN, Kind.LOADED]
    assert usage_in(reader)[0].skill in {"pdf", "<b>"}


def test_a_file_that_is_no_journal_is_an_error_with_a_remedy(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"not a database at all, but long enough to be looked at" * 100)
    with pytest.raises(StateFileError, match=r"cannot be read.*Move it away"):
        JournalReader(path).events()
    journal = SqliteJournal(path)
    journal.record(Event(Kind.LOADED, "pdf"))
    assert not journal.flush()
    assert journal.problem


def matched(*taken: str, near: tuple[str, ...] = (), turn: int = 1) -> Event:
    data = {
        "matched": [{"id": name, "score": 0.9} for name in taken],
        "near": [{"id": name} for name in near],
    }
    return Event(Kind.MATCHED, data=data, conversation="c", turn=turn)


def test_usage_counts_what_was_matched_loaded_run_and_missed(path: Path) -> None:
    reader = written(
        path,
        matched("pdf", near=("csv",), turn=1),
        matched("pdf", near=("csv",), turn=2),
        matched("pdf", near=("csv",), turn=3),
        Event(Kind.ACTIVATED, "pdf", data={"tokens": 120}, conversation="c", turn=1),
        Event(Kind.LOADED, "seo", conversation="c", turn=2),
        Event(Kind.LOADED, "pdf", conversation="c", turn=3),
        Event(Kind.SCRIPT_RUN, "pdf", data={"error": "timeout"}),
        Event(Kind.SCRIPT_RUN, "pdf", data={"exit_code": 0}),
    )
    rows = {row.skill: row for row in usage_in(reader, ["pdf", "csv", "seo", "idle"])}
    assert (rows["pdf"].matched, rows["pdf"].run, rows["pdf"].failed, rows["pdf"].tokens) == (3, 2, 1, 120)
    assert (rows["pdf"].missed, rows["seo"].missed) == (0, 1)
    assert rows["csv"].always_beaten_by == "pdf"
    assert rows["idle"].never_used
    assert not rows["seo"].never_used


def test_a_journal_that_is_just_being_made_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    path.touch()
    assert JournalReader(path).events() == []
    assert JournalReader(path).stats().events == 0
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode = WAL")
    assert JournalReader(path).conversations() == []
    database.close()


def test_conversations_are_listed_whole_though_one_event_has_the_word(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "journal.sqlite")
    for turn, skill in ((1, "pdf"), (2, "csv"), (3, "pdf")):
        journal.record(Event(Kind.LOADED, skill, conversation="talk", turn=turn))
    journal.record(Event(Kind.LOADED, "other", conversation="later", turn=1))
    journal.close()
    [found] = JournalReader(journal.path).conversations(text="csv")
    assert (found.id, found.turns, found.events, found.skills) == ("talk", 3, 3, ("csv", "pdf"))
    assert [one.id for one in JournalReader(journal.path).conversations()] == ["later", "talk"]


def test_a_journal_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "journal.sqlite")
    with pytest.raises(StateFileError, match=r"not a plain file.*Move it away"):
        JournalReader(tmp_path / "journal.sqlite").events()
