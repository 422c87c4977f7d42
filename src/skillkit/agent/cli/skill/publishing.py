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
from skillkit.install.uploading import Upload
from skillkit.install.views import left_out_view

app = commands()


@app.command(
    "publish",
    short_help="Publish a skill on a registry, or skills as a site.",
    epilog=examples(
        "agent skill publish ./skills --well-known ./public",
        "agent skill publish ./pdf-forms --to https://skills.example.com/acme --version 1.2.0",
    ),
)
def publish(
    skills: Annotated[
        Path,
        typer.Argument(exists=True, file_okay=False, help="The folder with the skills, or of the skill."),
    ],
    *,
    well_known: Annotated[
        Path | None, typer.Option(file_okay=False, help="The folder the site serves.")
    ] = None,
    to: Annotated[
        str, typer.Option(metavar="BASE/OWNER", help="The registry, and who publishes there.")
    ] = "",
    version: Annotated[str, typer.Option(help="With --to; unless given, the header's or the next.")] = "",
    changes: Annotated[str, typer.Option(help="With --to: what is new, in a sentence.")] = "",
    json: Json = False,
) -> None:
    """Publish a skill on a registry, or write skills and an index with digests into a site.

    Every client that knows well-known addresses can install from both.
    """
    if (well_known is None) == (not to):
        raise typer.BadParameter("give one of them", param_hint="'--to' / '--well-known'")
    if well_known is None:
        _upload(skills, to, version, changes, json=json)
        return
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


def _upload(folder: Path, to: str, version: str, changes: str, *, json: bool) -> None:
    """Show the card, send the skill, and say what the registry made of it."""
    upload = Upload.of(folder)
    if not json:
        for label, values in upload.card.facts():
            output.remark(f"{label}: {', '.join(map(escape_hidden, values))}")
    answer = upload.send(to, version, changes)
    state = answer["state"]
    if json:
        output.print_json(answer)
    elif state == "refused" and "reasons" in answer:
        output.complain(f"{upload.name} was refused:")
        for reason in answer["reasons"]:
            output.say(f"  {escape_hidden(str(reason))}", whole=True)
    else:
        again = " (it was there already)" if answer.get("existed") else ""
        shown = f"{answer.get('owner')}/{answer.get('skill')}@{answer.get('version')}"
        output.say(f"{escape_hidden(shown)} is {escape_hidden(state)}{again}.", whole=True)
        if answer.get("reason"):
            output.say(f"  {escape_hidden(str(answer['reason']))}", whole=True)
        for change in answer.get("difference", ()):
            for sign, key in (("+", "gained"), ("-", "lost")):
                for value in change[key]:
                    output.say(
                        f"  {sign} {escape_hidden(change['fact'])}: {escape_hidden(value)}", whole=True
                    )
    raise typer.Exit(outcome.ERROR if state == "refused" else outcome.OK)
