"""`agent doctor`: detected clients, the skills each one sees, and problems."""

from pathlib import Path

from skillkit.agent.cli import outcome, output
from skillkit.agent.cli.families import Family, Result
from skillkit.agent.cli.options import examples
from skillkit.agent.remedies import advise
from skillkit.core.text import escape_hidden
from skillkit.install.context import InstallContext
from skillkit.install.doctor import Diagnosis, diagnose, diagnosis_data

app = Family()


@app.command("doctor", epilog=examples("agent doctor", "agent doctor --json"))
def doctor() -> Result:
    """Check which skills other clients see.

    Changes nothing; exit code 3 if something is wrong.
    """
    found = diagnose(InstallContext(), Path.cwd(), advise)
    code = outcome.DRIFT if found.problems else outcome.OK
    return Result(diagnosis_data(found), lambda: _show(found), code)


def _show(found: Diagnosis) -> None:
    rows = []
    for view in found.clients:
        folders = ", ".join(str(folder) for folder in view.folders)
        rows.append((view.id, len(view.skills), folders or "no folder yet"))
    if rows:
        output.table(("Client", "Skills", "Folders"), rows, flexible="Folders")
    else:
        output.say("No client that reads skills was found on this machine.")
    for problem in found.problems:
        output.say(f"✗ {escape_hidden(problem.message)}", "yellow", whole=True)
        output.say(f"    {escape_hidden(problem.remedy)}", whole=True)
    if not found.problems:
        output.say("✓ No problems found.", "green")
