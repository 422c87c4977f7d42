"""What the journal costs: a request with and without it, a million events written and asked for.

python3 dev.py bench journal [EVENTS]     100,000 unless given
"""

import json
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.measure import best, duration, table
from skillkit import SkillManager
from skillkit.disclosure import SkillContextProvider, SkillSession
from skillkit.journal import Event, EventFilter, JournalReader, Kind, SqliteJournal

SKILLS = 100
REQUESTS = 300


def main(number: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        scratch = Path(place)
        title = f"One request, {SKILLS} skills, processor time of whoever asks"
        table(title, ["what", "median", "× without"], requests(scratch))
        table(f"{number:,} events", ["what", "time", "× plain SQLite"], events(scratch, number))


def requests(scratch: Path) -> list[list[str]]:
    folder = scratch / "skills"
    for number in range(SKILLS):
        skill = folder / f"skill-{number}"
        skill.mkdir(parents=True)
        header = (
            f"name: skill-{number}\ndescription: Does task {number} with tool{number} and topic{number % 7}."
        )
        (skill / "SKILL.md").write_text(f"---\n{header}\n---\n# How\nDo it.\n")
    journal = SqliteJournal(scratch / "j.sqlite")
    providers = [made(folder, None), made(folder, journal)]
    times: list[list[float]] = [[], []]
    for number in range(REQUESTS):  # in turns, so that both meet the same load
        for provider, taken in zip(providers, times, strict=True):
            started = time.thread_time()
            ask(provider, number)
            taken.append(time.thread_time() - started)
    journal.close()
    assert journal.problem is None
    without, with_journal = map(statistics.median, times)
    return [
        ["without a journal", duration(without), "1.000"],
        ["with a journal", duration(with_journal), f"{with_journal / without:.3f}"],
    ]


def made(folder: Path, journal: SqliteJournal | None) -> SkillContextProvider:
    manager = SkillManager(project_skill_dir=folder, anthropic_config_dir="", journal=journal)
    provider = SkillContextProvider(manager)
    provider.prepare()
    return provider


def ask(provider: SkillContextProvider, number: int) -> None:
    provider.disclose(f"Please do task {number % SKILLS} with tool{number}", SkillSession())


def events(scratch: Path, number: int) -> list[list[str]]:
    made = [
        Event(
            Kind.LOADED, f"skill-{n % 500}", "d" * 64, {"origin": "model", "n": n}, f"talk-{n // 50}", n % 9
        )
        for n in range(number)
    ]
    ours = timed(lambda: write_ours(scratch / "ours.sqlite", made))
    plain = timed(lambda: write_plain(scratch / "plain.sqlite", made))
    reader = JournalReader(scratch / "ours.sqlite")
    rows = [["write all of them", duration(ours), f"{ours / plain:.2f}"]]
    questions: list[tuple[str, Callable[[], object], str]] = [
        ("the newest page", reader.events, "SELECT * FROM event ORDER BY id DESC LIMIT 100"),
        (
            "a page of one skill",
            lambda: reader.events(EventFilter(skill="skill-7")),
            "SELECT * FROM event WHERE skill = 'skill-7' ORDER BY id DESC LIMIT 100",
        ),
        (
            "search for a word that is nowhere",
            lambda: reader.events(EventFilter(text="nowhere")),
            "SELECT * FROM event WHERE data LIKE '%nowhere%' ORDER BY id DESC LIMIT 100",
        ),
        (
            "one conversation",
            lambda: reader.conversation("talk-3"),
            "SELECT * FROM event WHERE conversation = 'talk-3' ORDER BY id",
        ),
    ]
    with sqlite3.connect(scratch / "ours.sqlite") as database:
        for what, ask, order in questions:
            mine = best(ask, repeat=3)
            theirs = best(partial(fetch, database, order), repeat=3)
            rows.append([what, duration(mine), f"{mine / theirs:.2f}"])
    return rows


def fetch(database: sqlite3.Connection, order: str) -> list[object]:
    return database.execute(order).fetchall()


def timed(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def write_ours(path: Path, made: list[Event]) -> None:
    journal = SqliteJournal(path)
    for number, event in enumerate(made):
        journal.record(event)
        if number % 10_000 == 9_999:
            journal.flush()  # a burst of this size comes from no program; without the wait it would drop
    journal.close()


def write_plain(path: Path, made: list[Event]) -> None:
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE event (id INTEGER PRIMARY KEY, time, kind, skill, data)")
        database.executemany(
            "INSERT INTO event (time, kind, skill, data) VALUES (?,?,?,?)",
            ((event.time, event.kind.value, event.skill, json.dumps(dict(event.data))) for event in made),
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
