"""Publishing skills for other people's clients."""

from pathlib import Path
from typing import Annotated, Any

import typer

from skillkit.agent.authoring.templates import template_text
from skillkit.agent.cli import outcome, output
from skillkit.agent.cli.families import Family, Result
from skillkit.agent.cli.options import Json, examples
from skillkit.agent.cli.overview import show_problems
from skillkit.core.text import escape_hidden
from skillkit.install.publishing import Upload, published_view
from skillkit.install.publishing import publish as write_site
from skillkit.install.views import left_out_view

app = Family()


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
        typer.Argument(exists=True, file_okay=False, help="Folder of the skill, or of several."),
    ],
    *,
    well_known: Annotated[
        Path | None, typer.Option(file_okay=False, help="Folder that the site serves.")
    ] = None,
    to: Annotated[str, typer.Option(metavar="BASE/OWNER", help="Registry and owner.")] = "",
    version: Annotated[str, typer.Option(help="With --to: version; default: the header's or the next.")] = "",
    changes: Annotated[str, typer.Option(help="With --to: changelog, one sentence.")] = "",
    json: Json = False,
) -> Result:
    """Publish a skill on a registry, or write skills and an index with digests into a site.

    Every client that knows well-known addresses can install from both.
    """
    if (well_known is None) == (not to):
        raise typer.BadParameter("give one of them", param_hint="'--to' / '--well-known'")
    if well_known is None:
        return _upload(skills, to, version, changes, quiet=json)
    published, left_out = write_site(skills, well_known)
    for found in sorted(skills.rglob("SKILL.md")):
        show_problems(template_text(found))

    def show() -> None:
        for skill in published:
            output.say(f"{skill.name}  {skill.url}", whole=True)
            output.say(f"  {skill.digest}", whole=True)
        output.left_out("Left out", left_out)
        output.remark(f"Serve {escape_hidden(str(well_known))} as the root of a site. To install from it:")
        output.remark("agent skill add https://SITE --all")

    data = {"published": published_view(published), "left_out": left_out_view(left_out)}
    return Result(data, show, outcome.PARTIAL if left_out else outcome.OK)


def _upload(folder: Path, to: str, version: str, changes: str, *, quiet: bool) -> Result:
    """Show the card, send the skill, and say what the registry made of it."""
    upload = Upload.of(folder)
    for label, values in () if quiet else upload.card.facts():
        output.remark(f"{label}: {', '.join(map(escape_hidden, values))}")
    answer = upload.send(to, version, changes)
    code = outcome.OK if answer["state"] in ("published", "held") else outcome.ERROR
    return Result(answer, lambda: _show_answer(upload.name, answer, to.rstrip("/")), code)


def _show_answer(name: str, answer: dict[str, Any], place: str) -> None:
    if answer["state"] == "refused" and "reasons" in answer:
        output.complain(f"{name} was refused:")
        lines = [str(reason) for reason in answer["reasons"]]
    else:
        again = " (it was there already)" if answer.get("existed") else ""
        shown = f"{answer.get('owner')}/{answer.get('skill')}@{answer.get('version')}"
        output.say(f"{escape_hidden(shown)} is {escape_hidden(answer['state'])}{again}.", whole=True)
        lines = [str(answer["reason"])] if answer.get("reason") else []
        for change in answer.get("difference", ()):
            for sign, key in (("+", "gained"), ("-", "lost")):
                lines += [f"{sign} {change['fact']}: {value}" for value in change[key]]
    for line in lines:
        output.say(f"  {escape_hidden(line)}", whole=True)
    if answer["state"] == "held":
        output.remark("A reviewer publishes it, on the machine of the registry:")
        output.remark(escape_hidden(f"agent registry review approve {shown}"))
    elif answer["state"] == "published":
        output.remark("To install it:")
        output.remark(escape_hidden(f"agent skill add {place}/{answer.get('skill')}"))
