"""`agent serve`: the skills of this machine for other programs."""

import asyncio
import gc
import os
import signal
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skillkit.agent.cli import output
from skillkit.agent.cli.families import Family
from skillkit.agent.cli.options import examples
from skillkit.agent.cli.outcome import INTERRUPTED, hanging_up_terminates
from skillkit.agent.cli.overview import enabled_skills
from skillkit.agent.journal import open_journal
from skillkit.agent.script_answers import find_remedy
from skillkit.core.authority import PerTenantAuthority
from skillkit.core.disk import agent_home, real_path
from skillkit.core.exceptions import ConfigurationError
from skillkit.core.extras import pip_install
from skillkit.core.text import escape_hidden
from skillkit.install.enabled import EnabledSkills
from skillkit.install.selection import VARIABLE
from skillkit.scripts import ScriptTools

if TYPE_CHECKING:
    from socket import socket

    from skillkit.integrations.mcp import SkillServer

app = Family()

DEFAULT_PORT = 8765
SERVED_BY = (
    VARIABLE,
    "AGENT_HOME",
    "SKILL_AUTO_PREFIX",
    "SKILL_MATCHING_MODE",
    "SKILL_MATCHING_THRESHOLD",
    "SKILLKIT_SANDBOX",
    "SKILLKIT_RUNNER",
    "SKILLKIT_FLEET_CA",
    "SCRIPT_TIMEOUT",
    "MAX_SCRIPT_OUTPUT",
)
_WHY = {"disabled": "not enabled", "untrusted": "not trusted"}


@app.command(
    "serve",
    epilog=examples(
        "agent serve --mcp",
        "agent serve --mcp --print-config",
        "agent serve --mcp --http 127.0.0.1:8765",
        "AGENT_MCP_TOKEN=… agent serve --mcp --http 0.0.0.0:8765 --token-env AGENT_MCP_TOKEN",
        "agent serve --mcp --allow editor=pdf-forms,csv-report --allow ci='*'",
    ),
)
def serve(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(exists=True, file_okay=False, help="More folders to search."),
    ] = None,
    *,
    mcp: Annotated[bool, typer.Option("--mcp", help="Speak the Model Context Protocol.")] = False,
    http: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Over HTTP instead of standard input and output.")
    ] = None,
    token_env: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[CLIENT=]VARIABLE",
            help="Require the token in this variable; needed off loopback.",
        ),
    ] = None,
    origin: Annotated[
        list[str] | None, typer.Option(help="Allow this web origin, besides local ones.")
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(metavar="CLIENT=SKILLS", help="Give each client its own skills; '*' is all."),
    ] = None,
    scripts: Annotated[
        bool, typer.Option("--scripts", help="Offer scripts too; the client asks before it runs one.")
    ] = False,
    watch: Annotated[bool, typer.Option(help="Notify clients when skills change.")] = True,
    print_config: Annotated[
        bool, typer.Option("--print-config", help="Print the client's configuration.")
    ] = False,
) -> None:
    """Serve skills to other programs."""
    if not mcp:
        raise typer.BadParameter("the protocol is required", param_hint="'--mcp'")
    host, port = _address(http) if http is not None else ("", 0)
    if print_config:
        kept = [*(["--scripts"] if scripts else []), *([] if watch else ["--no-watch"])]
        kept += [word for given in allow or () for word in ("--allow", given)]
        kept += [str(real_path(path)) for path in paths or ()]
        _print_config(kept, f"http://{host}:{port}/mcp" if host else None, token_env or [])
        return
    tokens = dict(_token(given) for given in token_env or ())
    if http is None:
        _greet_people()  # first: what a server needs takes its time to load
    server = _server(paths or [], allow or [], scripts=scripts, watch=watch)
    if http is None:
        asyncio.run(server.run_stdio())
    else:
        _run_http(server, host, port, tokens, origin or [])


def _greet_people() -> None:
    """At a terminal instead of a client: explain, and end at the first Ctrl-C.

    The thread that reads standard input cannot be stopped, so the process ends as it is; a client has
    nothing half done to lose.
    """
    if not sys.stdin.isatty():
        return

    def end(*_: object) -> None:
        os.write(sys.stderr.fileno(), b"\n")  # it may be in the middle of a line of its own
        os._exit(INTERRUPTED)

    signal.signal(signal.SIGINT, end)  # before anybody reads how to end it
    output.remark(
        "Serving skills over standard input and output, to a program that starts this one. "
        "Ctrl-C ends it; --print-config shows what to write into a client's configuration."
    )


def _server(paths: list[Path], allow: list[str], *, scripts: bool, watch: bool) -> "SkillServer":
    try:
        from skillkit.integrations.mcp import SkillServer
    except ImportError as error:
        raise ConfigurationError(str(error)) from error

    enabled = enabled_skills(paths, journal=open_journal())
    enabled.manager.mcp_servers = None  # which ones there are the client knows
    _say_what_is_not_served(enabled, paths)
    manager = enabled.manager
    if allow:
        manager.authority = PerTenantAuthority(dict(_allowed(given) for given in allow), manager.authority)
    if watch and find_spec("watchfiles") is None:
        output.remark(f"Clients are not notified of changes; that requires: {pip_install('watch')}")
        watch = False
    granted = ScriptTools(manager, remedy=find_remedy) if scripts else False
    return SkillServer(manager, scripts=granted, watch=watch)


def _run_http(
    server: "SkillServer", host: str, port: int, tokens: dict[str, str], origins: list[str]
) -> None:
    import uvicorn

    from skillkit.integrations.mcp.http import PATH, http_app

    app = http_app(server, host=host, tokens=tokens, origins=origins)
    config = uvicorn.Config(app, host=host.strip("[]"), port=port, log_level="warning", access_log=False)

    class AnnouncingServer(uvicorn.Server):
        async def startup(self, sockets: "list[socket] | None" = None) -> None:
            await super().startup(sockets)
            if self.started:
                actual = self.servers[0].sockets[0].getsockname()[1]
                output.remark(f"Serving skills at http://{host}:{actual}{PATH}")

    # What is loaded by now stays: the garbage collector, which stops every client, need not look at it again.
    gc.collect()
    gc.freeze()
    with hanging_up_terminates():
        AnnouncingServer(config).run()


def _print_config(arguments: list[str], url: str | None, token_env: list[str]) -> None:
    from skillkit.integrations.mcp.config import snippets

    variable = token_env[0].partition("=")[2] or token_env[0] if token_env else None
    for snippet in snippets(
        _program(), ["serve", "--mcp", *arguments], url=url, token_env=variable, environment=_environment()
    ):
        output.say(f"# {snippet.client}: {snippet.file}", style="bold")
        sys.stdout.write(f"{snippet.text}\n\n")
        sys.stdout.flush()


def _program() -> str:
    """Return the path of this program; clients search other paths."""
    beside = Path(sys.executable).with_name("agent")
    return str(beside) if beside.exists() else str(Path(sys.argv[0]).absolute())


def _environment() -> dict[str, str]:
    """Return the variables that decide what is served; clients pass on few of the user's."""
    settings = {name: os.environ[name] for name in SERVED_BY if os.environ.get(name)}
    if "AGENT_HOME" in settings:
        settings["AGENT_HOME"] = str(agent_home())
    return settings


def _say_what_is_not_served(enabled: EnabledSkills, paths: list[Path]) -> None:
    """Print which skills of the given folders are not served, and why."""
    folders = [real_path(path) for path in paths]
    missing = [
        status
        for status in map(enabled.status, enabled.manager.list_skills())
        if status.refusal is not None
        and any(real_path(status.skill.base_dir).is_relative_to(folder) for folder in folders)
    ]
    if not missing:
        return
    names = ", ".join(status.skill.name for status in missing[:5])
    more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
    reasons = " and ".join(
        sorted({_WHY.get(status.refusal.code, status.refusal.code) for status in missing if status.refusal})
    )
    output.remark(
        escape_hidden(
            f"Not served: {names}{more}; {reasons}. Install what you trust with agent skill add FOLDER and "
            f"enable it, or serve folders as they are with {VARIABLE}=all-untrusted"
        ),
        "yellow",
    )


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":") if ":" in text else (text, "", str(DEFAULT_PORT))
    if not host or not port.isdecimal() or int(port) > 65535:
        raise typer.BadParameter(f"{text!r} is not HOST:PORT, such as 127.0.0.1:8765", param_hint="'--http'")
    return host, int(port)


def _token(given: str) -> tuple[str, str]:
    client, _, variable = given.rpartition("=")
    token = os.environ.get(variable, "").strip()
    if not token:
        raise ConfigurationError(f"The variable {variable} is empty; it must hold the token", "--token-env")
    return client or "token", token


def _allowed(given: str) -> tuple[str, list[str]]:
    client, sign, skills = given.partition("=")
    if not sign or not client:
        raise typer.BadParameter(f"{given!r} is not CLIENT=SKILLS", param_hint="'--allow'")
    return client, [name.strip() for name in skills.split(",") if name.strip()]
