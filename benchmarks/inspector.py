"""What the inspector's pages cost with 1,000 skills and 100,000 events.

python3 dev.py bench inspector [SKILLS] [EVENTS]
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.measure import best, duration, table
from skillkit.inspector.library import Library
from skillkit.inspector.pages import conversations, request, runs, skills, trust
from skillkit.install.enabled import EnabledSkills
from skillkit.install.selection import Selection
from skillkit.journal import Event, Kind, SqliteJournal

KINDS = (Kind.MATCHED, Kind.ACTIVATED, Kind.TOKENS, Kind.LOADED, Kind.READ, Kind.SCRIPT_RUN)


def main(number: int, events: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        os.environ["HOME"] = str(home)
        os.environ["AGENT_HOME"] = str(home / ".agent")
        write_skills(home / "skills", number)
        write_journal(home / "journal.sqlite", number, events)
        library = Library(
            lambda: EnabledSkills(search=[home / "skills"], selection=Selection("all-untrusted")),
            home / "journal.sqlite",
        )
        reading = best(lambda: [path.read_bytes() for path in (home / "skills").glob("*/SKILL.md")])
        rows = []
        for what, make in pages(library):
            first = best(make, repeat=1)
            settle(library)
            again = best(make)
            rows.append([what, duration(first), duration(again), f"{again / reading:.2f}"])
        heading = ["page", "first", "after that", "× reading the files"]
        table(f"{number:,} skills, {events:,} events", heading, rows)


def pages(library: Library) -> list[tuple[str, Callable[[], object]]]:
    word = {"q": "skill-77"}
    return [
        ("Skills", lambda: skills.show(library, {})),
        ("Request", lambda: request.show(library, {"q": "task 5 with tool5", "part": "result"})),
        ("Conversations", lambda: conversations.show(library, {})),
        ("Conversations, searched", lambda: conversations.show(library, word)),
        ("Runs", lambda: runs.show(library, {})),
        ("Runs, searched", lambda: runs.show(library, word)),
        ("Trust", lambda: trust.show(library)),
    ]


def settle(library: Library) -> None:
    """Wait until what threads count is counted."""
    while library.costs() is None or library.usage() is None or library.progress[0]:
        time.sleep(0.1)


def write_skills(folder: Path, number: int) -> None:
    for n in range(number):
        skill = folder / f"skill-{n}"
        skill.mkdir(parents=True)
        header = f"name: skill-{n}\ndescription: Does task {n} with tool{n} and topic{n % 7}."
        (skill / "SKILL.md").write_text(f"---\n{header}\n---\n# How\nDo it.\n")


def write_journal(path: Path, number: int, events: int) -> None:
    journal = SqliteJournal(path)
    for n in range(events):
        kind = KINDS[n % len(KINDS)]
        skill = f"skill-{n % number}"
        data: dict[str, object] = {"tokens": 5, "script": "a.py", "exit_code": 0, "duration_ms": 3.0}
        if kind is Kind.MATCHED:
            data = {"matched": [{"id": skill, "score": 0.9, "reasons": ["task"]}], "near": []}
            skill = ""
        journal.record(Event(kind, skill, "d" * 64, data, f"talk-{n // 10}", 1))
        if n % 10_000 == 9_999:
            journal.flush()
    journal.close()


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    main(*(given + [1_000, 100_000][len(given) :]))
