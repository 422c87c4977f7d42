"""A machine joins a fleet: try the sandbox, start a worker, exit when the gateway does not hear it."""

import asyncio
import contextlib
import ipaddress
import os
import signal
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from skillkit.core.disk import agent_home
from skillkit.core.threads import in_daemon_thread
from skillkit.fleet.cluster import AS_ITS_MACHINE, NAMESPACE, WORKER, FleetError, connect, parse_address
from skillkit.fleet.sealing import FleetKeys, keys_path
from skillkit.fleet.worker import Worker, WorkerOptions
from skillkit.scripts.selection import SETTING as SANDBOX
from skillkit.scripts.selection import NoSandboxError, SandboxSelection

UNHEARD = 15.0
"""Seconds without an accepted heartbeat after which a worker exits, to be started again by its supervisor."""
_START = 120.0
"""Seconds that Ray may take to start a worker's process."""
_LOOK = 0.5
_GOODBYE = 600.0
"""Seconds that what runs may take after SIGTERM."""


def check_machine(
    address: str, home: Path | None = None, sandbox: str | None = None, keys: Path | None = None
) -> str:
    """Return the sandbox that holds scripts here; FleetError if none does, or Ray would speak in clear."""
    FleetKeys.read(keys)
    host, _ = parse_address(address)
    if not is_loopback(host) and os.environ.get("RAY_USE_TLS") != "1":
        raise FleetError(
            f"{host} is another machine, and Ray would send its token in clear: set RAY_USE_TLS=1, "
            "RAY_TLS_SERVER_CERT, RAY_TLS_SERVER_KEY and RAY_TLS_CA_CERT on every machine of the fleet"
        )
    try:
        return SandboxSelection((home or agent_home() / "fleet") / "cache", sandbox).choose().name
    except NoSandboxError as error:
        raise FleetError(f"This machine cannot join: {error}") from error


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, spoken to without a network."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def serve(
    address: str,
    *,
    slots: int | None = None,
    home: Path | None = None,
    sandbox: str | None = None,
    keys: Path | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> None:
    """Serve until SIGTERM or a drain, then let what runs end; FleetError when the fleet is lost."""
    say(f"Sandbox: {check_machine(address, home, sandbox, keys)}")
    ray = await in_daemon_thread(connect, address)
    node = ray.get_runtime_context().get_node_id()
    options = WorkerOptions(  # settings as this program has them: the worker's environment is Ray's
        name=f"{WORKER}{uuid.uuid4().hex}",
        slots=slots or max(4, 2 * (os.cpu_count() or 1)),
        place=f"{node}/{uuid.uuid4().hex[:8]}",
        home=str(home or agent_home() / "fleet"),
        sandbox=sandbox or os.environ.get(SANDBOX),
        keys=str(keys or keys_path()),
    )
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    worker = start_worker(ray, node, options)
    try:
        await _stay(worker, options, stopping, say)
    except (ray.exceptions.RayError, TimeoutError) as error:
        raise FleetError(
            f"The worker of this machine died ({type(error).__name__}); start it again"
        ) from error


async def _stay(
    worker: Any, options: WorkerOptions, stopping: asyncio.Event, say: Callable[[str], None]
) -> None:
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(_START):
        await worker.ended.remote()
    began, serving, leaving = loop.time(), False, 0.0
    while True:
        async with asyncio.timeout(UNHEARD):
            silent, ended = await asyncio.gather(worker.silent_for.remote(), worker.ended.remote())
        if silent is not None and not serving:
            serving = True
            say(f"Serving {options.slots} runs at once as {options.name}")
        if ended or (leaving and loop.time() - leaving > _GOODBYE):
            say("Ended: drained" if ended else f"Ended: something still ran after {_GOODBYE:g} s")
            return
        if stopping.is_set() and not leaving:
            say("Finishing what runs")
            leaving = loop.time()
            worker.finish.remote()
        elif not leaving and (loop.time() - began if silent is None else silent) > UNHEARD:
            raise FleetError(
                f"No heartbeat was accepted for {UNHEARD:g} s: is `agent fleet gateway` running, "
                "with the same version of skillkit and the same fleet.keys?"
            )
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LOOK):
                await (asyncio.sleep(_LOOK) if leaving else stopping.wait())


def start_worker(ray: Any, node: str, options: WorkerOptions) -> Any:
    """Return a new worker process on a machine; it ends with this program, and is never restarted by Ray.

    A restarted actor would keep its name, and calls that were lost could be sent to it again.
    """
    actor = ray.remote(num_cpus=0, max_restarts=0, max_task_retries=0)(Worker)
    placed = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node, soft=False)
    return actor.options(
        name=options.name,
        namespace=NAMESPACE,
        max_concurrency=10_000,
        runtime_env=AS_ITS_MACHINE,
        scheduling_strategy=placed,
    ).remote(options)
