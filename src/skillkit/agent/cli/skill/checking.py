"""`agent skill verify`, `outdated` and `sync`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from skillkit.agent.cli import outcome, output
from skillkit.agent.cli.families import Family, Result
from skillkit.agent.cli.options import MaxBytes, MaxFiles, NoEnable, Trusted, Yes, examples
from skillkit.agent.cli.skill.installing import changed_result, enable, installer, show_use
from skillkit.agent.cli.skill_names import ManyInstalled
from skillkit.core.limits import SKILL_BYTES, SKILL_FILES
from skillkit.core.text import count_of
from skillkit.install.inspection import Verification
from skillkit.install.lockfile import LOCK_FILE, find_lock
from skillkit.install.tree import TreeLimits
from skillkit.install.views import freshness_view, installed_view, verification_view

app = Family()


@app.command("verify", epilog=examples("agent skill verify", "agent skill verify pdf --json"))
def verify(names: ManyInstalled = None) -> Result:
    """Check that installed skills are byte for byte what was approved. Exit code 3 if not."""
    with installer() as (opened, _):
        checks = opened.verify(names or ())
    intact = all(check.intact and not check.strays for check in checks)
    data = {"skills": [verification_view(check) for check in checks]}
    return Result(data, lambda: _show_checks(checks), outcome.OK if intact else outcome.DRIFT)


def _show_checks(checks: Sequence[Verification]) -> None:
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


@app.command("outdated", epilog=examples("agent skill outdated", "agent skill outdated --json"))
def outdated(names: ManyInstalled = None) -> Result:
    """Show which skills have changed at their source. Changes nothing; exit code 3 if any has."""
    with installer() as (opened, _):
        found = opened.outdated(names or ())
    rows, codes = [], []
    for item in found:
        note = item.error or item.note or ("newer" if item.outdated else "up to date")
        rows.append((item.skill.name, (item.skill.revision or "-")[:8], (item.latest or "?")[:8], note))
        codes.append(outcome.ERROR if item.error else outcome.DRIFT if item.outdated else outcome.OK)
    columns, otherwise = ("Name", "Installed", "Latest", "Note"), "No skills are installed."
    return Result(
        {"skills": [freshness_view(item) for item in found]},
        lambda: output.listing(columns, rows, flexible="Note", otherwise=otherwise),
        outcome.merge_exit_codes(codes),
    )


@app.command(
    "sync",
    short_help="Install the skills in skills-lock.json, and enable new ones.",
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
        typer.Option(help="Lock file; default: skills-lock.json or apm.lock.yaml."),
    ] = None,
    frozen: Annotated[
        bool, typer.Option("--frozen", help="Fail if an installed skill differs from the lock.")
    ] = False,
    write: Annotated[bool, typer.Option("--write", help="Write the lock from the installed skills.")] = False,
    no_enable: NoEnable = False,
    max_files: MaxFiles = SKILL_FILES,
    max_bytes: MaxBytes = SKILL_BYTES,
    yes: Yes = False,
    trusted: Trusted = False,
) -> Result:
    """Install exactly the skills in skills-lock.json, and enable new ones.

    Entries of other tools are found by their hash.
    """
    if names and not write:
        raise typer.BadParameter("names require --write; sync installs the whole lock")
    limits = TreeLimits(max_files, max_bytes)
    with installer(yes=yes, trusted=trusted, limits=limits) as (opened, _):
        if write:
            target = lock or Path(LOCK_FILE)
            locked = opened.lock(target, names or ())
            done = f"Locked {count_of(len(locked), 'skill')} in {target}"
            data = {"locked": [installed_view(item) for item in locked]}
            return Result(data, lambda: output.say(done, "green"))
        target = lock or find_lock(Path())
        before = {skill.name_canonical for skill in opened.list()}
        changed = opened.sync(target, frozen=frozen)
        if not no_enable:
            enable(opened, [item.name for item in changed if item.name_canonical not in before])

    def show() -> None:
        for item in changed:
            output.say(f"Installed {item.name} ({(item.revision or item.digest)[:8]})", "green")
        show_use([item.name for item in changed])
        output.left_out("Not restored:", changed.left_out)
        if not changed and not changed.left_out:
            output.say(f"Everything matches {target.name}.")

    return changed_result("installed", changed, show, changed.left_out)
