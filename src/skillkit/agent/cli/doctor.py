"""`agent doctor`: which clients are on this machine, what each one sees, and what is wrong."""

from pathlib import Path

import typer

from skillkit.agent.cli import outcome, output
from skillkit.agent.cli.families import commands
from skillkit.agent.cli.options import Json, examples
from skillkit.agent.remedies import advise
from skillkit.core.text import escape_hidden
from skillkit.install.context import InstallContext
from skillkit.install.doctor import diagnose, diagnosis_data

app = commands()


@app.command("doctor", epilog=examples("agent doctor", "agent doctor --json"))
def doctor(json: Json = False) -> None:
    """Show what other clients here see, and what is wrong.

    Changes nothing; exit code 3 if something is wrong.
    """
    found = diagnose(InstallContext(), Path.cwd(), advise)
    code = outcome.DRIFT if found.problems else outcome.OK
    if json:
        output.print_json(diagnosis_data(found))
        raise typer.Exit(code)
    rows = [
        (
            view.client.id,
            len(view.skills),
            ", ".join(str(folder) for folder in view.folders) or "no folder yet",
        )
        for view in found.clients
    ]
    if rows:
        output.table(("Client", "Skills", "Folders"), rows, flexible="Folders")
    else:
        output.say("No client that reads skills was found on this machine.")
    for problem in found.problems:
        output.say(f"✗ {escape_hidden(problem.message)}", "yellow", whole=True)
        output.say(f"    {escape_hidden(problem.remedy)}", whole=True)
    if not found.problems:
        output.say("✓ Nothing is wrong.", "green")
    raise typer.Exit(code)
