"""The root of the command line: global options and the families of commands."""

import os
from typing import Annotated

import typer

from skillkit._version import __version__
from skillkit.agent.cli.families import FamilyGroup
from skillkit.agent.providers import SHIPPED


class Commands(FamilyGroup):
    """What `agent` can do."""

    families = {  # noqa: RUF012 -- read-only by its type
        f"skillkit.agent.cli.{name}": (name,)
        for name in (
            "skill",
            "config",
            "demo",
            "doctor",
            "fleet",
            "inspect",
            "journal",
            "memory",
            "model",
            "registry",
            "secret",
            "serve",
            "session",
            "man",
            "uninstall",
        )
    }


app = typer.Typer(
    name="agent",
    cls=Commands,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Chat with an agent that uses skills; -p answers one request and exits.",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"skillkit {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def agent(
    context: typer.Context,
    *,
    prompt: Annotated[
        str | None,
        typer.Option(
            "-p", "--prompt", help="Answer this and any piped input, then exit; - reads the pipe only."
        ),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Print each step to stderr.")] = False,
    continued: Annotated[
        str | None,
        typer.Option(
            "--continue", metavar="[ID]", help="Continue a conversation; the latest if no id is given."
        ),
    ] = None,
    provider: Annotated[
        str | None, typer.Option(help=f"The model provider: {SHIPPED}, or one added by a package.")
    ] = None,
    name: Annotated[str | None, typer.Option("--model", help="The provider's model.")] = None,
    tools: Annotated[bool, typer.Option("--tools", help="List the tools offered to the model.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Show which skills are active, which are not, and why.")
    ] = False,
    json: Annotated[
        bool,
        typer.Option("--json", help="With -p, --check or --tools: print one JSON document."),
    ] = False,
    stream_json: Annotated[
        bool, typer.Option("--stream-json", help="With -p: print events as JSON lines.")
    ] = False,
    no_color: Annotated[bool, typer.Option("--no-color", help="Disable colours, as NO_COLOR does.")] = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Chat with an agent that uses skills; -p answers one request and exits."""
    if no_color:
        os.environ["NO_COLOR"] = "1"  # which rich and the prompt obey
    if check:
        from skillkit.agent.cli.check import check as show

        show(json=json)
    if context.invoked_subcommand is not None:
        return
    from skillkit.agent.cli.turns import Options

    options = Options(provider, name, verbose, continued)
    if tools:
        from skillkit.agent.cli.tools import show_tools

        show_tools(options, json=json)
    elif prompt is not None and (json or stream_json):
        from skillkit.agent.cli.prompt import answer_as_data

        answer_as_data(prompt, options, streaming=stream_json)
    elif prompt is not None:
        from skillkit.agent.cli.prompt import answer

        answer(prompt, options)
    elif json or stream_json:
        raise typer.BadParameter("requires -p TEXT", param_hint="'--json'" if json else "'--stream-json'")
    else:
        from skillkit.agent.cli.chat import chat

        chat(options)
