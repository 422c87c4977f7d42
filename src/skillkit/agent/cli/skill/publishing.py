"""Publishing skills for other people's clients."""

from pathlib import Path
from typing import Annotated

import typer

from skillkit.agent.authoring.templates import template_text
from skillkit.agent.cli import outcome, output
from skillkit.agent.cli.families import commands
from skillkit.agent.cli.options import Json, examples
from skillkit.agent.cli.overview import show_problems
from skillkit.core.text import escape_hidden
from skillkit.install.publishing import publish as write_site
from skillkit.install.publishing import published_view
from skillkit.install.views import left_out_view

app = commands()


@app.command(
    "publish",
    epilog=examples("agent skill publish ./skills --well-known ./public"),
)
def publish(
    skills: Annotated[Path, typer.Argument(exists=True, file_okay=False, help="The folder with the skills.")],
    *,
    well_known: Annotated[Path, typer.Option(file_okay=False, help="The folder the site serves.")],
    json: Json = False,
) -> None:
    """Write skills and an index with digests into a site.

    Every client that knows well-known addresses can install from it.
    """
    published, left_out = write_site(skills, well_known)
    if json:
        reasons = left_out_view(left_out)
        output.print_json({"published": published_view(published), "left_out": reasons})
    else:
        for skill in published:
            output.say(f"{skill.name}  {skill.url}", whole=True)
            output.say(f"  {skill.digest}", whole=True)
        for left in left_out:
            output.remark(f"Left out {left}", "yellow")
        output.remark(f"Serve {escape_hidden(str(well_known))} as the root of a site. To install from it:")
        output.remark("agent skill add https://SITE --all")
    for found in sorted(skills.rglob("SKILL.md")):
        show_problems(template_text(found))
    raise typer.Exit(outcome.PARTIAL if left_out else outcome.OK)
