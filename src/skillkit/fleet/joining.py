"""A machine joins a fleet: the sandbox is tried, a worker is started and started again when it dies."""

import asyncio
import contextlib
import os
import signal
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from skillkit.core.disk import agent_home
from skillkit.core.threads import in_daemon_thread
from skillkit.fleet.cluster import (
    AS_ITS_MACHINE,
    NAMESPACE,
    FleetError,
    connect,
    find_dispatchers,
    ray_value,
)
from skillkit.fleet.sealing import FleetKeys, keys_path
from skillkit.fleet.worker import Worker, WorkerOptions
from skillkit.scripts.selection import SETTING as SANDBOX
from skillkit.scripts.selection import NoSandboxError, SandboxSelection

_AGAIN = 1.0


def check_machine(home: Path | None = None, sandbox: str | None = None, keys: Path | None = None) -> str:
    """Return the sandbox that holds scripts on this machine; FleetError if none does, or keys are missing."""
    FleetKeys.read(keys)
    try:
        return SandboxSelection((home or agent_home() / "fleet") / "cache", sandbox).choose().name
    except NoSandboxError as error:
        raise FleetError(f"This machine cannot join: {error}") from error


async def serve(
    address: str,
    *,
    slots: int | None = None,
    home: Path | None = None,
    sandbox: str | None = None,
    keys: Path | None = None,
    trees: str | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> None:
    """Serve until SIGTERM or a drain; then take nothing more, let what runs end, and return."""
    say(f"Sandbox: {check_machine(home, sandbox, keys)}")
    ray = await in_daemon_thread(connect, address)
    node = ray.get_runtime_context().get_node_id()
    options = WorkerOptions(  # settings as this program has them: the worker's environment is Ray's
        name="",
        slots=slots or max(4, 2 * (os.cpu_count() or 1)),
        place=f"{node}/{uuid.uuid4().hex[:8]}",
        home=str(home or agent_home() / "fleet"),
        sandbox=sandbox or os.environ.get(SANDBOX),
        keys=str(keys or keys_path()),
        trees=trees,
    )
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    while not await _serve_once(ray, node, options, stopping, say):
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_AGAIN):
                await stopping.wait()


async def _serve_once(
    ray: Any, node: str, options: WorkerOptions, stopping: asyncio.Event, say: Callable[[str], None]
) -> bool:
    """Run one worker process to its end; return whether it was meant to end."""
    options = replace(options, name=f"worker-{uuid.uuid4().hex}")
    worker = start_worker(ray, node, options)
    serving = asyncio.ensure_future(ray_value(worker.serve.remote()))
    stop = asyncio.ensure_future(stopping.wait())
    say(f"Serving {options.slots} runs at once as {options.name}")
    try:
        await asyncio.wait({serving, stop}, return_when=asyncio.FIRST_COMPLETED)
        if not serving.done():
            say("Finishing what runs")
            worker.finish.remote()
        say(f"Ended: {await serving}")
        return True
    except ray.exceptions.RayError as error:
        said = str(error).strip().splitlines() or [""]
        say(f"The worker died ({type(error).__name__}): {said[-1].strip()}")
        for dispatcher in (await in_daemon_thread(find_dispatchers, ray)).values():
            dispatcher.retire.remote(options.name)
        return stopping.is_set()
    finally:
        stop.cancel()


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
