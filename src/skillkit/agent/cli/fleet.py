"""`agent fleet …`: scripts on many machines."""

import asyncio
import logging
import os
import secrets
from pathlib import Path
from typing import Annotated

import typer

from skillkit.agent.cli import outcome, output
from skillkit.agent.cli.families import group
from skillkit.agent.cli.options import Json, examples
from skillkit.agent.cli.overview import enabled_skills
from skillkit.core.text import escape_hidden
from skillkit.fleet import PORT
from skillkit.fleet.sealing import (
    FleetKeys,
    add_key,
    keys_path,
    ray_token_path,
    tenant_key_path,
    write_private,
)
from skillkit.scripts.runners import SETTING
from skillkit.scripts.tools import ScriptTools

app = group("fleet", "Run scripts on many machines, through a gateway.")
_HEAD = "ray://127.0.0.1:6399"

Head = Annotated[str, typer.Option("--address", metavar="ray://HOST:PORT", help="The cluster's Ray head.")]
Url = Annotated[str, typer.Option("--gateway", metavar="URL", help=f"The gateway; {SETTING} names it, too.")]


@app.command(
    epilog=examples(
        "agent fleet gateway --here",
        "agent fleet gateway --host 10.0.0.1 --tls-cert gateway.pem --tls-key gateway.key",
    )
)
def gateway(  # noqa: PLR0917
    address: Head = _HEAD,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535)] = PORT,
    tls_cert: Annotated[Path | None, typer.Option(help="Certificate; needed off loopback.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Its private key.")] = None,
    here: Annotated[
        bool, typer.Option("--here", help="Also start Ray's head and a worker on this machine.")
    ] = False,
) -> None:
    """Serve programs: the one process that they talk to. It holds the queue and drives Ray."""
    from skillkit.fleet.gateway_process import serve_gateway

    logging.basicConfig(level=logging.WARNING)
    serving = serve_gateway(
        address, host=host, port=port, certificate=tls_cert, key=tls_key, here=here, say=output.remark
    )
    asyncio.run(serving)


@app.command(
    epilog=examples("agent fleet worker --address ray://10.0.0.1:6399", "agent fleet worker --slots 16")
)
def worker(
    address: Head = _HEAD,
    slots: Annotated[
        int | None, typer.Option(min=1, max=1024, help="Maximum parallel runs; default: two per core.")
    ] = None,
    keys: Annotated[Path | None, typer.Option(help="Key file, if not in ~/.agent.")] = None,
    home: Annotated[Path | None, typer.Option(help="Cache folder for trees and environments.")] = None,
    sandbox: Annotated[str | None, typer.Option(help="Sandbox backend; default: the best available.")] = None,
) -> None:
    """Serve the fleet with this machine until it is ended or drained."""
    from skillkit.fleet.joining import serve

    asyncio.run(serve(address, slots=slots, home=home, sandbox=sandbox, keys=keys, say=output.remark))


@app.command(
    epilog=examples("agent fleet status", "agent fleet status --json", "agent fleet status --metrics")
)
def status(
    gateway: Url = "",
    json: Json = False,
    metrics: Annotated[bool, typer.Option("--metrics", help="Print Prometheus metrics.")] = False,
) -> None:
    """Show machines, why one is not used, and what waits and runs by tenant."""
    from skillkit.fleet.operations import fleet_status, metrics_text

    found = fleet_status(_url(gateway))
    if metrics:
        typer.echo(metrics_text(found), nl=False)
        return
    if json:
        output.print_json(found)
        return
    output.facts(
        [
            ("Machines", f"{sum(each['state'] == 'ready' for each in found['machines'])} ready"),
            ("Running", found["running"]),
            ("Waiting", found["waiting"]),
            *([("Cluster", found["engine"])] if found["engine"] else []),
            *([("Policy", found["policy_error"])] if found["policy_error"] else []),
        ]
    )
    if found["machines"]:
        keys = ("host", "address", "state", "running", "slots", "sandbox", "version", "reason")
        rows = [[each.get(key, "") for key in keys] for each in found["machines"]]
        output.table([key.capitalize() for key in keys], rows, flexible="Reason")
        for each in found["machines"]:
            if each.get("remedy"):
                output.remark(escape_hidden(f"{each['host']}: {each['remedy']}"))
    else:
        output.remark("No machine serves: run `agent fleet worker` on each.")
    if found["tenants"]:
        counted = ("waiting", "running", "started", "refused", "weight")
        rows = [[name, *(numbers[key] for key in counted)] for name, numbers in found["tenants"].items()]
        output.table(["Tenant", *(key.capitalize() for key in counted)], rows, flexible="Tenant")


@app.command(epilog=examples("agent fleet drain 10.0.0.7"))
def drain(
    machine: Annotated[str, typer.Argument(help="Host, address or name from `agent fleet status`.")],
    gateway: Url = "",
    seconds: Annotated[float, typer.Option(min=0, help="How long to wait for running scripts.")] = 600.0,
) -> None:
    """Let a machine finish what it runs and take nothing more."""
    from skillkit.fleet.operations import drain_machine

    for name in drain_machine(_url(gateway), machine, seconds):
        output.say(f"Drained {escape_hidden(name)}", whole=True)


@app.command(epilog=examples("agent fleet prepare pdf-forms csv-report"))
def prepare(
    skills: Annotated[list[str], typer.Argument(help="Skills to prepare.")],
    gateway: Url = "",
) -> None:
    """Bring trees and packages of skills to every machine before they are asked for."""
    from skillkit.fleet.remote import RemoteRunner

    runner = RemoteRunner(_url(gateway))
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


@app.command(epilog=examples("agent fleet key", "agent fleet key --tenant acme"))
def key(
    tenant: Annotated[
        str | None, typer.Option(help="Print this tenant's key instead of creating one.")
    ] = None,
    keys: Annotated[
        Path | None, typer.Option(help="Key file; default: SKILLKIT_FLEET_KEYS or ~/.agent/fleet.keys.")
    ] = None,
) -> None:
    """Make the fleet's key, Ray's token and a key for programs; every file is closed to others."""
    if tenant is not None:
        output.say(FleetKeys.read(keys).tenant(tenant).text, whole=True)
        return
    name = add_key(keys)
    output.say(f"{keys or keys_path()}: new key {name}, for the gateway and every machine", whole=True)
    if not ray_token_path().exists():
        write_private(ray_token_path(), secrets.token_hex(32))
        output.say(f"{ray_token_path()}: Ray's token, for the gateway and every machine", whole=True)
    if keys is None:
        write_private(tenant_key_path(), FleetKeys.read().tenant("default").text + "\n")
        output.say(f"{tenant_key_path()}: the key of tenant 'default', for programs", whole=True)


def _url(given: str) -> str:
    return given or os.environ.get(SETTING, "") or f"http://127.0.0.1:{PORT}"
