"""Operator commands of a fleet: status and drain."""

import time
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import quote

from skillkit.fleet.cluster import FleetError
from skillkit.fleet.gateway_client import GatewayClient, RefusedError
from skillkit.fleet.sealing import OPERATOR, FleetKeys


def fleet_status(url: str, keys: Path | None = None) -> dict[str, Any]:
    """Return machines and tenants as the gateway sees them."""
    return _ask(url, keys, "GET", "/v1/status")


def drain_machine(url: str, machine: str, seconds: float, keys: Path | None = None) -> list[str]:
    """Drain a machine and wait until its workers have exited; return their names.

    FleetError if there is no such machine, or its runs take longer than `seconds`.
    """
    path = f"/v1/machines/{quote(machine, safe='')}/drain"
    drained: list[str] = _ask(url, keys, "POST", path)["drained"]
    if not drained:
        raise FleetError(f"No machine is called '{machine}'; `agent fleet status` lists hosts and addresses")
    deadline = time.monotonic() + seconds
    while still := set(drained) & {each["name"] for each in fleet_status(url, keys)["machines"]}:
        if time.monotonic() > deadline:
            raise FleetError(
                f"{min(still)} still has running scripts after {seconds:g} s; it accepts no new ones"
            )
        time.sleep(0.2)
    return drained


def metrics_text(status: dict[str, Any]) -> str:
    """Format a status as metrics for Prometheus and OpenTelemetry collectors."""
    lines = [
        "# TYPE skillkit_fleet_workers gauge",
        *(
            f'skillkit_fleet_workers{{state="{state}"}} {number}'
            for state, number in sorted(Counter(each["state"] for each in status["machines"]).items())
        ),
    ]
    for key in ("slots", "running", "trees", "free"):
        lines.append(f"# TYPE skillkit_fleet_{key} gauge")
        for each in status["machines"]:
            of = f'worker="{_escaped(each["name"])}",host="{_escaped(str(each.get("host", "")))}"'
            lines.append(f"skillkit_fleet_{key}{{{of}}} {each.get(key, 0)}")
    for key, kind in (
        ("waiting", "gauge"),
        ("running", "gauge"),
        ("started", "counter"),
        ("refused", "counter"),
    ):
        name = f"skillkit_fleet_tenant_{key}{'_total' if kind == 'counter' else ''}"
        lines.append(f"# TYPE {name} {kind}")
        for tenant, numbers in sorted(status["tenants"].items()):
            lines.append(f'{name}{{tenant="{_escaped(tenant)}"}} {numbers[key]:g}')
    return "\n".join([*lines, ""])


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _ask(url: str, keys: Path | None, method: str, path: str) -> dict[str, Any]:
    client = GatewayClient(url, FleetKeys.read(keys).tenant(OPERATOR).token)
    try:
        return client.ask(method, path)
    except RefusedError as error:
        raise FleetError(f"The gateway at {url} refused: {error}") from error
    finally:
        client.close()
