"""`agent skill usage`: which skills are used, by whom, and which never are."""

import time
from datetime import datetime
from typing import Annotated

import typer

from skillkit.agent.cli import output
from skillkit.agent.cli.families import Family, Result
from skillkit.agent.cli.journal import days
from skillkit.agent.cli.options import examples
from skillkit.agent.cli.overview import enabled_skills
from skillkit.agent.journal import journal_path
from skillkit.journal import JournalReader, SkillUsage
from skillkit.journal.importers import IMPORTERS
from skillkit.journal.usage import usage_in, usage_of

app = Family()


@app.command(
    epilog=examples("agent skill usage", "agent skill usage --since 7d", "agent skill usage --of claude-code")
)
def usage(
    since: Annotated[str, typer.Option(help="Count events newer than this: 7d, 12h, 2w.")] = "90d",
    of: Annotated[
        str | None, typer.Option(help="Read the logs of another agent: claude-code or codex.")
    ] = None,
) -> Result:
    """Show how often each skill was used, and which never was."""
    start = time.time() - days(since) * 86_400
    if of is None:
        names = [skill.canonical_name for skill in enabled_skills().manager.offered_skills()]
        rows = usage_in(JournalReader(journal_path()), names, since=start)
    elif of in IMPORTERS:
        rows = usage_of(event for event in IMPORTERS[of](None) if event.time >= start)
    else:
        raise typer.BadParameter(f"'{of}' is not one of {', '.join(IMPORTERS)}", param_hint="--of")

    def show() -> None:
        if rows:
            _show(rows, unknown=of is not None)
        elif of is None:
            output.remark("No skill is enabled and none was used.")
        else:
            output.remark(
                f"The logs of {of} name no skill of the last {since}. To look further back: --since 52w"
            )

    return Result([row.to_data() for row in rows], show)


def _show(rows: list[SkillUsage], *, unknown: bool) -> None:
    """`unknown`: the log of another agent says when a skill was loaded and no more."""
    columns = ("Skill", "Matched", "Loaded", "Read", "Run", "Failed", "Tokens", "Last", "Remark")
    cells: list[tuple[object, ...]] = []
    for row in rows:
        last = f"{datetime.fromtimestamp(row.last):%Y-%m-%d}" if row.last else "never"
        if unknown:
            cells.append((row.skill, "?", row.loaded, row.read, "?", "?", "?", last))
        else:
            counted = (row.matched, row.loaded, row.read, row.run, row.failed, f"{row.tokens:,}")
            cells.append((row.skill, *counted, last, _remark(row)))
    output.table(columns[:-1] if unknown else columns, cells, flexible="Skill" if unknown else "Remark")


def _remark(row: SkillUsage) -> str:
    if row.always_beaten_by:
        return f"always behind {row.always_beaten_by}"
    if row.missed:
        return f"loaded by hand {row.missed} ×"
    return "never used" if row.never_used else ""
