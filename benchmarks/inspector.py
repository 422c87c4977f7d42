"""What the inspector's pages cost in processor time with 10,000 skills and 1,000,000 events.

python3 dev.py bench inspector [SKILLS] [EVENTS]
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.measure import duration, table
from skillkit.inspector.library import Library
from skillkit.inspector.pages import conversations, home, request, runs, skills, trust
from skillkit.install.enabled import EnabledSkills
from skillkit.install.selection import Selection
from skillkit.journal import Event, Kind, SqliteJournal

FIRST_PAGE = 0.1
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
        rows = []
        home_again = 0.0
        for what, make in pages(library):
            first = processor_time(make)
            settle(library)
            again = min(processor_time(make) for _ in range(3))
            home_again = home_again or again
            rows.append([what, duration(first), duration(again)])
        heading = ["page", "first", "with a warm index"]
        table(f"{number:,} skills, {events:,} events, processor time", heading, rows)
        verdict = "within" if home_again < FIRST_PAGE else "MORE THAN"
        print(f"\nThe first page took {duration(home_again)}: {verdict} {duration(FIRST_PAGE)}.")


def processor_time(make: Callable[[], object]) -> float:
    """Seconds that this thread computed; what other threads count meanwhile is not the page's."""
    start = time.thread_time()
    make()
    return time.thread_time() - start


def pages(library: Library) -> list[tuple[str, Callable[[], object]]]:
    word = {"q": "skill-77"}
    return [
        ("Home", lambda: home.show(library)),
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
    main(*(given + [10_000, 1_000_000][len(given) :]))
