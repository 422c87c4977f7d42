"""Join a machine to a fleet: check the sandbox, start a worker, exit when the gateway is lost."""

import asyncio
import contextlib
import os
import signal
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from skillkit.core.disk import agent_home, make_folder
from skillkit.core.text import count_of
from skillkit.core.threads import in_daemon_thread
from skillkit.fleet.cluster import (
    AS_ITS_MACHINE,
    NAMESPACE,
    WORKER,
    FleetError,
    check_cluster,
    connect,
    send_ray_to,
)
from skillkit.fleet.sealing import FleetKeys, keys_path
from skillkit.fleet.worker import Worker, WorkerOptions
from skillkit.scripts.selection import SETTING as SANDBOX
from skillkit.scripts.selection import NoSandboxError, SandboxSelection

UNHEARD = 15.0
"""Seconds without an accepted heartbeat after which a worker exits, to be restarted by its supervisor."""
UNHEARD_BUSY = 60.0
"""The same while scripts run: a restarted gateway or driver will ask for their results."""
_START = 120.0
"""Timeout in seconds for Ray to start a worker's process."""
_LOOK = 0.5
_GOODBYE = 600.0
"""Grace period in seconds for runs after SIGTERM."""


def check_machine(address: str, home: Path, sandbox: str | None = None, keys: Path | None = None) -> str:
    """Return the available sandbox; FleetError if there is none, or if Ray would use unencrypted
    connections."""
    FleetKeys.read(keys)
    check_cluster(address)
    try:
        return SandboxSelection(home / "cache", sandbox).choose().name
    except NoSandboxError as error:
        raise FleetError(f"This machine cannot join: {error}") from error


async def serve(
    address: str,
    *,
    slots: int | None = None,
    home: Path | None = None,
    sandbox: str | None = None,
    keys: Path | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> None:
    """Serve until SIGTERM or a drain, then wait for the current runs; FleetError when the fleet is lost."""
    folder = home or agent_home() / "fleet"
    say(f"Sandbox: {check_machine(address, folder, sandbox, keys)}")
    make_folder(folder)
    send_ray_to(folder / "ray.log")
    say(f"Joining {address}; Ray writes to {folder / 'ray.log'}")
    ray = await in_daemon_thread(connect, address)
    node = ray.get_runtime_context().get_node_id()
    options = WorkerOptions(  # resolved in this process: the worker inherits Ray's environment
        name=f"{WORKER}{uuid.uuid4().hex}",
        slots=slots or max(4, 2 * (os.cpu_count() or 1)),
        home=str(folder),
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
        await worker.presence.remote()
    began, serving, leaving = loop.time(), False, 0.0
    while True:
        async with asyncio.timeout(UNHEARD):
            silent, busy, ended = await worker.presence.remote()
        unheard = UNHEARD_BUSY if busy else UNHEARD
        if silent is not None and not serving:
            serving = True
            say(f"Serving {count_of(options.slots, 'run')} at once as {options.name}")
        if ended or (leaving and loop.time() - leaving > _GOODBYE):
            say("Ended: drained" if ended else f"Ended: scripts were still running after {_GOODBYE:g} s")
            return
        if stopping.is_set() and not leaving:
            say("Waiting for running scripts")
            leaving = loop.time()
            worker.finish.remote()
        elif not leaving and (loop.time() - began if silent is None else silent) > unheard:
            raise FleetError(
                f"No heartbeat was accepted for {unheard:g} s: is `agent fleet gateway` running, "
                "with the same version of skillkit and the same fleet.keys?"
            )
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LOOK):
                await (asyncio.sleep(_LOOK) if leaving else stopping.wait())


def start_worker(ray: Any, node: str, options: WorkerOptions) -> Any:
    """Start a worker process on a machine; it ends with this program, and Ray never restarts it.

    A restarted actor would keep its name, and lost calls could be delivered to it again.
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
