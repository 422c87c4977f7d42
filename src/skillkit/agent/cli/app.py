"""The root of the command line: global options and the families of commands."""

from typing import Annotated

import typer

from skillkit._version import __version__
from skillkit.agent.cli import serve
from skillkit.agent.cli.skill import app as skill_app

app = typer.Typer(
    name="agent",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Agent Skills: find, check, install and use them.",
)
app.add_typer(skill_app, name="skill")
serve.register(app)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"skillkit {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def agent(
    context: typer.Context,
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Show which skills are active, which are not, and why.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="With --check: print JSON for programs.")] = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Agent Skills: find, check, install and use them."""
    if check:
        from skillkit.agent.cli.check import check as show

        raise typer.Exit(show(json=json))
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
