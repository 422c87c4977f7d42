"""Folders of other clients: who sees which skill, and taking over what is there."""

from pathlib import Path

import typer

from skillkit.agent.cli import outcome, output
from skillkit.agent.cli.families import commands
from skillkit.agent.cli.options import Full, Json, NoEnable, Trusted, examples
from skillkit.agent.cli.overview import enabled_skills
from skillkit.agent.cli.skill.installing import enable, installer, show_use
from skillkit.agent.cli.skill_names import ManyInstalled
from skillkit.core.disk import real_path
from skillkit.core.text import escape_hidden
from skillkit.install.views import installed_view, left_out_view, place_view

app = commands()


@app.command("where", epilog=examples("agent skill where", "agent skill where pdf --json"))
def where(names: ManyInstalled = None, json: Json = False) -> None:
    """Show which clients see installed skills, and in which folders."""
    with installer() as (opened, _):
        checks = opened.verify(names or ())
    if json:
        data = {check.skill.name: [place_view(place) for place in check.places] for check in checks}
        output.print_json({"skills": data})
        return
    rows = [
        (
            check.skill.name,
            ", ".join(found.place.clients),
            "copy" if found.place.copied else "link",
            found.state.value,
            found.place.path,
        )
        for check in checks
        for found in check.places
    ]
    if rows:
        output.table(("Name", "Clients", "Kind", "State", "Path"), rows, flexible="Path")
    alone = [check.skill.name_canonical for check in checks if not check.places]
    if alone:
        output.remark(f"Only this program sees: {', '.join(alone)}")
        output.remark("To show one to other clients, add it again with --for.")
    if not checks:
        output.remark("No skills are installed.")


@app.command(
    "adopt",
    short_help="Approve and enable the skills that other tools installed.",
    epilog=examples("agent skill adopt", "agent skill adopt --trusted --json"),
)
def adopt(
    no_enable: NoEnable = False, trusted: Trusted = False, full: Full = False, json: Json = False
) -> None:
    """Approve and enable the skills that other tools installed, with one question.

    Nothing is moved. Where a tool says where a skill came from, verify, outdated and update work on it.
    """
    with installer(trusted=trusted, full=full) as (opened, _):
        adopted = opened.adopt(Path.cwd())
        found = enabled_skills().manager.list_skills() if adopted.approved else ()
        names = [item.name for item in adopted]
        names += [skill.name for skill in found if real_path(skill.skill_path.parent) in adopted.approved]
        if not no_enable:
            enable(opened, names)
    if json:
        output.print_json(
            {
                "adopted": [installed_view(item) for item in adopted],
                "approved": [str(path) for path in adopted.approved],
                "left_out": left_out_view(adopted.left_out),
            }
        )
    else:
        for item in adopted:
            output.say(f"Adopted {item.name} from {item.origin}", "green", whole=True)
        for path in adopted.approved:
            output.say(f"Approved {escape_hidden(str(path))}", "green", whole=True)
        show_use(names)
        for left in adopted.left_out:
            output.remark(f"Left alone {left}", "yellow")
        if not (adopted or adopted.approved or adopted.left_out):
            output.say("There is nothing that other tools installed.")
    done = adopted or adopted.approved
    raise typer.Exit(outcome.PARTIAL if done and adopted.left_out else outcome.OK)
