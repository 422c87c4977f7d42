"""`agent skill …`: one file for each family of commands."""

import typer

from skillkit.agent.cli.skill import (
    authoring,
    checking,
    finding,
    installing,
    listing,
    measuring,
    running,
    trusting,
)

app = typer.Typer(
    name="skill",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Find, install, check and write skills.",
)
for family in (listing, finding, measuring, installing, checking, trusting, running, authoring):
    family.register(app)
