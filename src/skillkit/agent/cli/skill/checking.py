"""Comparing what is installed: verify, outdated, sync."""

from pathlib import Path
from typing import Annotated

import typer

from skillkit.agent.cli import outcome, output
from skillkit.agent.cli.options import (
    MAX_BYTES,
    MAX_FILES,
    Json,
    ManyInstalled,
    MaxBytes,
    MaxFiles,
    Trusted,
    Yes,
    examples,
)
from skillkit.agent.cli.skill.installing import installer


def register(app: typer.Typer) -> None:
    app.command("verify", epilog=examples("agent skill verify", "agent skill verify pdf --json"))(verify)
    app.command("outdated", epilog=examples("agent skill outdated", "agent skill outdated --json"))(outdated)
    app.command(
        "sync",
        epilog=examples(
            "agent skill sync                 (install what skills.lock says)",
            "agent skill sync --frozen --yes  (in CI: refuse anything that differs)",
            "agent skill sync --write         (lock what is installed now)",
            "agent skill sync --write pdf     (lock only this one)",
        ),
    )(sync)


def verify(names: ManyInstalled = None, json: Json = False) -> None:
    """Check that installed skills are byte for byte what was approved. Exit code 3 if not."""
    from skillkit.install.views import verification_view

    with installer() as (opened, _):
        checks = opened.verify(names or ())
    if json:
        output.print_json({"skills": [verification_view(check) for check in checks]})
    else:
        for check in checks:
            if check.intact:
                output.say(f"✓ {check.skill.name}", "green")
            else:
                output.say(f"✗ {check.skill.name} was edited", "red")
                for edit in check.edits:
                    output.console().print(output.shown(f"    {edit}"))
        if not checks:
            output.remark("No skills are installed.")
    raise typer.Exit(outcome.OK if all(check.intact for check in checks) else outcome.DRIFT)


def outdated(names: ManyInstalled = None, json: Json = False) -> None:
    """Show which skills have changed at their source. Changes nothing; exit code 3 if any has."""
    from skillkit.install.views import freshness_view

    with installer() as (opened, _):
        found = opened.outdated(names or ())
    if json:
        output.print_json({"skills": [freshness_view(item) for item in found]})
    elif not found:
        output.remark("No skills are installed.")
    else:
        rows = [
            (
                item.skill.name,
                (item.skill.revision or "-")[:8],
                (item.latest or "?")[:8],
                item.error or item.note or ("newer" if item.outdated else "up to date"),
            )
            for item in found
        ]
        output.table(("Name", "Installed", "Latest", "Note"), rows, flexible="Note")
    codes = [
        outcome.ERROR if item.error else outcome.DRIFT if item.outdated else outcome.OK for item in found
    ]
    raise typer.Exit(outcome.merge_exit_codes(codes))


def sync(
    names: ManyInstalled = None,
    *,
    lock: Annotated[Path, typer.Option(help="The lock file.")] = Path("skills.lock"),
    frozen: Annotated[
        bool, typer.Option("--frozen", help="Refuse if something installed differs from the lock.")
    ] = False,
    write: Annotated[bool, typer.Option("--write", help="Write the lock from what is installed.")] = False,
    max_files: MaxFiles = MAX_FILES,
    max_bytes: MaxBytes = MAX_BYTES,
    yes: Yes = False,
    trusted: Trusted = False,
    json: Json = False,
) -> None:
    """Install exactly what skills.lock says, all of it or nothing."""
    from skillkit.install.tree import TreeLimits
    from skillkit.install.views import installed_view

    if names and not write:
        raise typer.BadParameter("names are for --write; a lock is restored as a whole")
    with installer(yes=yes, trusted=trusted, limits=TreeLimits(max_files, max_bytes)) as (opened, _):
        changed = opened.lock(lock, names or ()) if write else opened.sync(lock, frozen=frozen)
    if json:
        output.print_json({"locked" if write else "installed": [installed_view(item) for item in changed]})
    elif write:
        output.say(f"Locked {output.count(len(changed), 'skill')} in {lock}", "green")
    elif not changed:
        output.say("Everything is as skills.lock says.")
    else:
        for item in changed:
            output.say(f"Installed {item.name} ({(item.revision or item.digest)[:8]})", "green")
