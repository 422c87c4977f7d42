"""What whoever runs a fleet asks of it: how it is, and to let a machine go."""

import time
from collections import Counter
from typing import Any

from skillkit.fleet.cluster import (
    NAMESPACE,
    FleetError,
    connect,
    find_dispatchers,
    get_dispatcher,
    import_ray,
)
from skillkit.fleet.protocol import PROTOCOL

_PATIENCE = 30.0


def fleet_status(address: str) -> dict[str, Any]:
    """Return machines, workers and tenants as the dispatchers of every version see them."""
    ray = connect(address)
    get_dispatcher(ray)
    said = [_ask(dispatcher.status.remote()) for _, dispatcher in sorted(find_dispatchers(ray).items())]
    workers = [{"name": name, **facts} for one in said for name, facts in one["workers"].items()]
    tenants: dict[str, dict[str, float]] = {}
    for one in said:
        for name, numbers in one["tenants"].items():
            known = tenants.setdefault(name, dict.fromkeys(numbers, 0))
            for key, number in numbers.items():
                known[key] = number if key == "weight" else known[key] + number
    return {
        "address": address,
        "protocol": PROTOCOL,
        "nodes": [
            {"id": node["NodeID"], "address": node["NodeManagerAddress"], "alive": node["Alive"]}
            for node in ray.nodes()
        ],
        "dispatchers": [
            {key: one[key] for key in ("number", "protocol", "started", "clients", "policy_error")}
            for one in said
        ],
        "workers": workers,
        "tenants": tenants,
        "running": sum(worker["running"] for worker in workers),
        "waiting": sum(int(numbers["waiting"]) for numbers in tenants.values()),
    }


def drain_machine(address: str, node: str, seconds: float) -> list[str]:
    """Start nothing more on a machine and wait until its workers have ended; return their names.

    FleetError when there is no such machine, or its runs take longer than `seconds`.
    """
    ray = connect(address)
    drained = [
        worker
        for dispatcher in find_dispatchers(ray).values()
        for worker in _ask(dispatcher.drain.remote(node))
    ]
    if not drained:
        raise FleetError(f"No machine of the fleet is called '{node}'; the status lists id, host and address")
    deadline = time.monotonic() + seconds
    for name in drained:
        try:
            ray.get_actor(name, namespace=NAMESPACE).finish.remote()
        except ValueError:
            continue
        while name in {worker["name"] for worker in fleet_status(address)["workers"]}:
            if time.monotonic() > deadline:
                raise FleetError(
                    f"{name} is still running something after {seconds:g} s; it takes nothing new"
                )
            time.sleep(0.2)
    return drained


def metrics_text(status: dict[str, Any]) -> str:
    """Return a status as metrics in the text format that Prometheus and OpenTelemetry collectors read."""
    lines = [
        "# TYPE skillkit_fleet_workers gauge",
        *(
            f'skillkit_fleet_workers{{state="{state}"}} {number}'
            for state, number in sorted(Counter(worker["state"] for worker in status["workers"]).items())
        ),
    ]
    for key in ("slots", "running", "trees"):
        lines.append(f"# TYPE skillkit_fleet_{key} gauge")
        for worker in status["workers"]:
            of = f'worker="{_escaped(worker["name"])}",host="{_escaped(worker["host"])}"'
            lines.append(f"skillkit_fleet_{key}{{{of}}} {worker[key]}")
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


def _ask(reference: Any) -> Any:
    ray = import_ray()
    try:
        return ray.get(reference, timeout=_PATIENCE)
    except ray.exceptions.RayError as error:
        raise FleetError(f"A dispatcher of the fleet does not answer ({type(error).__name__})") from error
