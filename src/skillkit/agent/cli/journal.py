"""`agent journal …`: what skills did, kept in ~/.agent/journal.sqlite."""

import re
import sys
from contextlib import closing
from datetime import datetime
from typing import Annotated

import typer

from skillkit.agent.cli import output
from skillkit.agent.cli.families import Result, group
from skillkit.agent.cli.options import examples
from skillkit.agent.journal import journal_path
from skillkit.core.codec import encode
from skillkit.core.names import canonical_name
from skillkit.core.text import count_of
from skillkit.journal import EventFilter, JournalReader, sqlite

app = group("journal", "Export, prune and measure the journal.")

_AGE = re.compile(r"(\d{1,5})([dhw])")
_DAYS = {"h": 1 / 24, "d": 1, "w": 7}


def days(text: str) -> float:
    """Return an age such as 90d, 12h or 2w in days."""
    if found := _AGE.fullmatch(text.strip().lower()):
        return int(found[1]) * _DAYS[found[2]]
    raise typer.BadParameter(f"'{text}' is not an age; write 90d, 12h or 2w")


@app.command(epilog=examples("agent journal stats", "agent journal stats --json"))
def stats() -> Result:
    """Show how much the journal holds, by kind of event."""
    found = JournalReader(journal_path()).stats()
    rows: list[tuple[str, object]] = [("Journal", journal_path()), ("Events", f"{found.events:,}")]
    if found.first is not None and found.last is not None:
        rows += [
            ("Size", f"{found.bytes / 1e6:,.1f} MB"),
            ("From", f"{datetime.fromtimestamp(found.first):%Y-%m-%d %H:%M}"),
            ("To", f"{datetime.fromtimestamp(found.last):%Y-%m-%d %H:%M}"),
        ]
    rows += [(kind, f"{number:,}") for kind, number in sorted(found.by_kind.items())]
    return Result({"path": str(journal_path()), **encode(found)}, lambda: output.facts(rows))


@app.command(epilog=examples("agent journal export > events.jsonl", "agent journal export --skill pdf"))
def export(
    skill: Annotated[str, typer.Option(help="Only events of this skill.")] = "",
    conversation: Annotated[str, typer.Option(help="Only events of this conversation.")] = "",
) -> None:
    """Print every event as a line of JSON, the oldest first."""
    wanted = EventFilter(skill=canonical_name(skill), conversation=conversation)
    for line in JournalReader(journal_path()).export(wanted):
        sys.stdout.write(line + "\n")


@app.command(epilog=examples("agent journal prune --keep 90d", "agent journal prune --keep 0d"))
def prune(
    keep: Annotated[str, typer.Option(help="Keep events newer than this: 90d, 12h, 2w.")] = "90d",
    max_megabytes: Annotated[int, typer.Option(help="Delete the oldest events until the rest fits.")] = 512,
) -> None:
    """Delete old events."""
    if not journal_path().exists():
        output.remark("There is no journal yet.")
        return
    with closing(sqlite.open_for_writing(journal_path())) as database:
        gone = sqlite.prune(database, days(keep), max_megabytes << 20)
        database.execute("VACUUM")
    output.say(f"Deleted {count_of(gone, 'event')}.")
