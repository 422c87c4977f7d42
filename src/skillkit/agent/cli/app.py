"""The root of the command line: global options and the families of commands."""

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
        )
    }


app = typer.Typer(
    name="agent",
    cls=Commands,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="An agent with skills. Without a command it chats; -p answers one request.",
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
            "-p", "--prompt", help="Answer this, and what is piped in, and end; - takes the pipe alone."
        ),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show what happens, on stderr.")] = False,
    continued: Annotated[
        str | None,
        typer.Option(
            "--continue", metavar="[ID]", help="Go on with a conversation; the newest without an id."
        ),
    ] = None,
    provider: Annotated[
        str | None, typer.Option(help=f"The model provider: {SHIPPED}, or one that a package adds.")
    ] = None,
    name: Annotated[str | None, typer.Option("--model", help="The provider's model.")] = None,
    tools: Annotated[bool, typer.Option("--tools", help="Show the tools that the model is offered.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Show which skills are active, which are not, and why.")
    ] = False,
    json: Annotated[
        bool,
        typer.Option("--json", help="With -p, --check or --tools: print one JSON document for programs."),
    ] = False,
    stream_json: Annotated[
        bool, typer.Option("--stream-json", help="With -p: print what happens as lines of JSON.")
    ] = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """An agent with skills. Without a command it chats; -p answers one request."""
    if check:
        from skillkit.agent.cli.check import check as show

        show(json=json)
        raise typer.Exit
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
        raise typer.BadParameter(
            "goes with -p, which says what to answer", param_hint="'--json'" if json else "'--stream-json'"
        )
    else:
        from skillkit.agent.cli.chat import chat

        chat(options)
