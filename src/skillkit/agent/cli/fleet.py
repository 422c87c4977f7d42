"""`agent fleet …`: scripts on many machines."""

import asyncio
import os
from pathlib import Path
from typing import Annotated

import typer

from skillkit.agent.cli import outcome, output
from skillkit.agent.cli.families import group
from skillkit.agent.cli.options import Json, examples
from skillkit.agent.cli.overview import enabled_skills
from skillkit.core.text import escape_hidden
from skillkit.fleet.joining import serve
from skillkit.fleet.operations import drain_machine, fleet_status, metrics_text
from skillkit.fleet.runner import TREES, RayRunner
from skillkit.fleet.sealing import add_key, keys_path
from skillkit.scripts.runners import SETTING
from skillkit.scripts.tools import ScriptTools

app = group("fleet", "Run scripts on many machines, through Ray.")

Address = Annotated[
    str, typer.Option("--address", metavar="ray://HOST:PORT", help=f"The head; {SETTING} names it, too.")
]


@app.command(
    epilog=examples("agent fleet worker --address ray://10.0.0.1:6399", "agent fleet worker --slots 16")
)
def worker(
    address: Address = "",
    slots: Annotated[
        int | None, typer.Option(min=1, max=1024, help="Runs at once; unless given, two a core.")
    ] = None,
    trees: Annotated[
        str | None,
        typer.Option(help="Where trees are fetched: a folder that all see, or s3://BUCKET/PREFIX."),
    ] = None,
) -> None:
    """Serve the fleet with this machine until it is ended or drained."""
    trees = trees or os.environ.get(TREES)
    asyncio.run(serve(_address(address), slots=slots, trees=trees, say=output.remark))


@app.command(
    epilog=examples("agent fleet status", "agent fleet status --json", "agent fleet status --metrics")
)
def status(
    address: Address = "",
    json: Json = False,
    metrics: Annotated[bool, typer.Option("--metrics", help="As metrics in Prometheus' text form.")] = False,
) -> None:
    """Show machines, workers, what runs, and what waits by tenant."""
    found = fleet_status(_address(address))
    if json:
        output.print_json(found)
        return
    if metrics:
        typer.echo(metrics_text(found), nl=False)
        return
    alive = sum(node["alive"] for node in found["nodes"])
    output.facts(
        [
            ("Machines", f"{alive} alive of {len(found['nodes'])}"),
            ("Running", found["running"]),
            ("Waiting", found["waiting"]),
            *(("Policy", each["policy_error"]) for each in found["dispatchers"] if each["policy_error"]),
        ]
    )
    if found["workers"]:
        keys = ("host", "address", "state", "running", "slots", "sandbox", "version", "protocol", "trees")
        rows = [[worker[key] for key in keys] for worker in found["workers"]]
        output.table([key.capitalize() for key in keys], rows, flexible="Host")
    else:
        output.remark("No machine serves yet: run `agent fleet worker` on each.")
    if found["tenants"]:
        counted = ("waiting", "running", "started", "refused", "weight")
        rows = [[name, *(numbers[key] for key in counted)] for name, numbers in found["tenants"].items()]
        output.table(["Tenant", *(key.capitalize() for key in counted)], rows, flexible="Tenant")


@app.command(epilog=examples("agent fleet drain 10.0.0.7"))
def drain(
    node: Annotated[str, typer.Argument(help="Id, host or address, as the status shows it.")],
    address: Address = "",
    seconds: Annotated[float, typer.Option(min=0, help="How long to wait for what runs there.")] = 600.0,
) -> None:
    """Let a machine finish what it runs and take nothing more."""
    for name in drain_machine(_address(address), node, seconds):
        output.say(f"Drained {escape_hidden(name)}", whole=True)


@app.command(epilog=examples("agent fleet prepare pdf-forms csv-report"))
def prepare(
    skills: Annotated[list[str], typer.Argument(help="Skills whose scripts are to start fast.")],
    address: Address = "",
) -> None:
    """Bring trees and packages of skills to every machine before they are asked for."""
    runner = RayRunner(_address(address))
    failed = 0
    try:
        tools = ScriptTools(enabled_skills().manager, runner)
        for skill in skills:
            for request in tools.help_requests(skill):
                for name, why in runner.prepare(request).items():
                    failed += bool(why)
                    output.say(f"{request.skill} {request.script} on {name}: {why or 'ready'}", whole=True)
    finally:
        runner.close()
    raise typer.Exit(outcome.PARTIAL if failed else outcome.OK)


@app.command(epilog=examples("agent fleet key", "agent fleet key --keys /etc/skillkit/fleet.keys"))
def key(
    keys: Annotated[
        Path | None, typer.Option(help="The file; unless given, SKILLKIT_FLEET_KEYS or ~/.agent/fleet.keys.")
    ] = None,
) -> None:
    """Make a key for the fleet; an older one goes on opening what it has sealed."""
    name = add_key(keys)
    output.say(f"{keys or keys_path()} begins with the new key {name}", whole=True)
    output.remark("Copy the file to every machine of the fleet; it must be closed to others (chmod 600).")


def _address(given: str) -> str:
    return given or os.environ.get(SETTING, "")
