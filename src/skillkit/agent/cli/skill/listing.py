"""Looking at all skills: list."""

from pathlib import Path
from typing import Annotated

import typer

from skillkit.agent.cli.families import commands
from skillkit.agent.cli.options import Json, examples
from skillkit.agent.cli.overview import show_list

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
    show_list(paths or (), json=json)
