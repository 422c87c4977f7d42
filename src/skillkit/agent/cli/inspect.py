"""`agent inspect`: a page in the browser that shows what skills are, cost, did and why."""

import socket
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from skillkit.agent.cli import outcome, output
from skillkit.agent.cli.families import Family
from skillkit.agent.cli.options import examples
from skillkit.agent.cli.overview import enabled_skills
from skillkit.agent.instructions import INSTRUCTIONS
from skillkit.agent.journal import journal_path, open_journal
from skillkit.core.extras import pip_install
from skillkit.inspector.actions import InspectorActions
from skillkit.inspector.library import Library

app = Family()

DEFAULT_PORT = 0


@app.command(
    name="inspect",
    epilog=examples(
        "agent inspect", "agent inspect ./skills --port 8765 --no-open", "agent inspect --manage"
    ),
)
def inspect(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(help="More folders to show."),
    ] = None,
    port: Annotated[int, typer.Option(help="Port to listen on; 0 picks a free one.")] = DEFAULT_PORT,
    manage: Annotated[
        bool,
        typer.Option("--manage", help="Let the page enable, disable and trust skills, after confirmation."),
    ] = False,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Print the address without opening a browser.")
    ] = False,
) -> None:
    """Show in the browser what skills are, cost, did and why."""
    try:
        import uvicorn

        from skillkit.inspector.app import create_app
    except ImportError as error:
        output.complain(f"The inspector needs its extra ({error}). Install it with: {pip_install('inspect')}")
        raise typer.Exit(outcome.ERROR) from None
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
    except OSError as error:
        output.complain(f"Port {port} cannot be used: {error.strerror}. Choose another with --port.")
        raise typer.Exit(outcome.ERROR) from None
    listening.listen()  # the address works as soon as it is printed
    number = listening.getsockname()[1]
    library = Library(lambda: enabled_skills(paths or ()), journal_path(), manage=manage, system=INSTRUCTIONS)
    library.snapshot()  # judging begins before the first page asks
    actions = InspectorActions(library, open_journal()) if manage else None
    servers: list[uvicorn.Server] = []
    application = create_app(
        library, number, actions=actions, ending=lambda: any(one.should_exit for one in servers)
    )
    address = f"http://127.0.0.1:{number}/?token={application.token}"
    output.say(address, whole=True)
    output.remark("Open the address above; press Ctrl-C to stop. It contains a token: do not share it.")
    if not no_open:
        webbrowser.open(address)
    config = uvicorn.Config(
        application,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=10,  # an open page keeps its stream of changes open
    )
    servers.append(uvicorn.Server(config))
    with outcome.hanging_up_terminates():
        servers[0].run(sockets=[listening])
