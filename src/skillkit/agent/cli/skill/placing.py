"""Who sees which skill: where."""

import typer

from skillkit.agent.cli import output
from skillkit.agent.cli.options import Json, ManyInstalled, examples
from skillkit.agent.cli.skill.installing import installer


def register(app: typer.Typer) -> None:
    app.command("where", epilog=examples("agent skill where", "agent skill where pdf --json"))(where)


def where(names: ManyInstalled = None, json: Json = False) -> None:
    """Show which clients see installed skills, and in which folders."""
    from skillkit.install.views import place_view

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
        output.remark("To show one to others: agent skill add SOURCE --for CLIENT")
    if not checks:
        output.remark("No skills are installed.")
