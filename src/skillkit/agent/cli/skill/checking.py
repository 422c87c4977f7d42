"""Comparing what is installed: verify, outdated, sync."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from skillkit.agent.cli import outcome, output
from skillkit.agent.cli.families import commands
from skillkit.agent.cli.options import Json, MaxBytes, MaxFiles, NoEnable, Trusted, Yes, examples
from skillkit.agent.cli.skill.installing import enable, installer, show_use
from skillkit.agent.cli.skill_names import ManyInstalled
from skillkit.core.digest import MAX_BYTES, MAX_FILES
from skillkit.install.lockfile import LOCK_FILE, find_lock
from skillkit.install.record import InstalledSkill
from skillkit.install.tree import TreeLimits
from skillkit.install.views import freshness_view, installed_view, left_out_view, verification_view

app = commands()


@app.command("verify", epilog=examples("agent skill verify", "agent skill verify pdf --json"))
def verify(names: ManyInstalled = None, json: Json = False) -> None:
    """Check that installed skills are byte for byte what was approved. Exit code 3 if not."""
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
            for stray in check.strays:
                output.say(f"✗ {check.skill.name}: {stray}", "red", whole=True)
        if not checks:
            output.remark("No skills are installed.")
    intact = all(check.intact and not check.strays for check in checks)
    raise typer.Exit(outcome.OK if intact else outcome.DRIFT)


@app.command("outdated", epilog=examples("agent skill outdated", "agent skill outdated --json"))
def outdated(names: ManyInstalled = None, json: Json = False) -> None:
    """Show which skills have changed at their source. Changes nothing; exit code 3 if any has."""
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


@app.command(
    "sync",
    short_help="Install what skills-lock.json says, and enable what is new.",
    epilog=examples(
        "agent skill sync                 (install what the lock says)",
        "agent skill sync --frozen --yes  (in CI: refuse anything that differs)",
        "agent skill sync --write         (lock what is installed now)",
        "agent skill sync --write pdf     (lock only this one)",
    ),
)
def sync(
    names: ManyInstalled = None,
    *,
    lock: Annotated[
        Path | None,
        typer.Option(help="The lock; skills-lock.json or apm.lock.yaml if not given."),
    ] = None,
    frozen: Annotated[
        bool, typer.Option("--frozen", help="Refuse if something installed differs from the lock.")
    ] = False,
    write: Annotated[bool, typer.Option("--write", help="Write the lock from what is installed.")] = False,
    no_enable: NoEnable = False,
    max_files: MaxFiles = MAX_FILES,
    max_bytes: MaxBytes = MAX_BYTES,
    yes: Yes = False,
    trusted: Trusted = False,
    json: Json = False,
) -> None:
    """Install exactly what skills-lock.json says, and enable what is new.

    Entries of other tools are found by their hash.
    """
    if names and not write:
        raise typer.BadParameter("names are for --write; a lock is restored as a whole")
    limits = TreeLimits(max_files, max_bytes)
    with installer(yes=yes, trusted=trusted, limits=limits) as (opened, _):
        if write:
            target = lock or Path(LOCK_FILE)
            locked = opened.lock(target, names or ())
        else:
            target = lock or find_lock(Path())
            before = {skill.name_canonical for skill in opened.list()}
            changed = opened.sync(target, frozen=frozen)
            if not no_enable:
                enable(opened, [item.name for item in changed if item.name_canonical not in before])
    if write:
        _say_locked(locked, target, json=json)
        return
    left_out = left_out_view(changed.left_out)
    if json:
        output.print_json({"installed": [installed_view(item) for item in changed], "left_out": left_out})
    else:
        for item in changed:
            output.say(f"Installed {item.name} ({(item.revision or item.digest)[:8]})", "green")
        show_use([item.name for item in changed])
        for left in changed.left_out:
            output.remark(f"Not restored: {left}", "yellow")
        if not changed and not left_out:
            output.say(f"Everything is as {target.name} says.")
    raise typer.Exit(outcome.PARTIAL if left_out else outcome.OK)


def _say_locked(locked: Sequence[InstalledSkill], target: Path, *, json: bool) -> None:
    if json:
        output.print_json({"locked": [installed_view(item) for item in locked]})
        return
    output.say(f"Locked {output.count(len(locked), 'skill')} in {target}", "green")
