"""Looking at all skills: list."""

from pathlib import Path
from typing import Annotated

import typer

from skillkit.agent.cli import output
from skillkit.agent.cli.families import commands
from skillkit.agent.cli.options import Json, examples
from skillkit.agent.cli.overview import enabled_skills, show_problems
from skillkit.core.codec import encode
from skillkit.install.record import InstalledSkill

app = commands()


@app.command("ls", hidden=True)
@app.command(
    "list",
    short_help="List the skills, and what is wrong with those left out.",
    epilog=examples(
        "agent skill list",
        "agent skill list ./my-skills",
        "agent skill list --json | jq '.skills[].name'",
    ),
)
def list_skills(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            exists=True,
            file_okay=False,
            help="More folders to search, besides the usual places.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List the skills that are found, and what is wrong with those that are not."""
    enabled = enabled_skills(paths or ())
    manager = enabled.manager
    skills = manager.list_skills()
    if json:
        from skillkit.install.views import status_view

        output.print_json(
            {
                "skills": [status_view(enabled.status(skill)) for skill in skills],
                "diagnostics": [encode(found) for found in manager.diagnostics],
            }
        )
        return
    if not skills:
        output.remark(
            "No skills found. Write one with: agent skill create NAME — or name a folder: "
            "agent skill list PATH"
        )
    else:
        # Whether a skill is trusted is asked only where it matters: it takes reading all of its files.
        rows = [
            (
                skill.name,
                "no" if manager.refusal(skill) else "yes",
                skill.version or "-",
                _source(skill.source_label, record),
                output.summary(skill.description, title=record.mended_from if record else ""),
            )
            for skill, record in ((skill, enabled.authority.installed(skill)) for skill in skills)
        ]
        output.table(("Name", "Active", "Version", "Source", "Description"), rows, flexible="Description")
        if all(active == "no" for _, active, *_ in rows):
            output.remark("None is active. To use one: agent skill enable NAME")
    show_problems(manager.diagnostics)


def _source(label: str, record: InstalledSkill | None) -> str:
    return f"{label} {record.revision[:8]}" if record and record.revision else label
