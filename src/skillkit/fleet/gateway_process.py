"""The process of a gateway; for a single-machine fleet, it also runs Ray and a worker."""

import asyncio
import os
import shlex
import signal
import ssl
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from skillkit.core.disk import agent_home, locked
from skillkit.core.threads import in_daemon_thread
from skillkit.fleet import PORT
from skillkit.fleet.cluster import FleetError, check_cluster, check_head, is_loopback
from skillkit.fleet.engine import Engine
from skillkit.fleet.gateway import Gateway
from skillkit.fleet.gateway_http import make_app
from skillkit.fleet.sealing import FleetKeys, check_private

_AGAIN = 2.0
_LOOK = 0.5
_RAY_START = 90.0
_FOLDER = os.path.dirname(sys.executable)


async def serve_gateway(
    address: str,
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    certificate: Path | None = None,
    key: Path | None = None,
    here: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> None:
    """Serve until SIGTERM or an interrupt; without a certificate, on loopback only.

    `address` is `ray://HOST:PORT` of the cluster's head; `here` also runs that head and a worker.
    """
    import uvicorn

    if certificate is None and not is_loopback(host):
        raise FleetError(
            f"{host} is reached over a network, so programs need TLS: add --tls-cert and --tls-key"
        )
    check_cluster(address)
    if key is not None:
        check_private(key)
    home, keys = agent_home() / "gateway", FleetKeys.read()
    gateway = Gateway(Engine(address, say), keys, home, say)
    config = uvicorn.Config(
        make_app(gateway),
        host=host,
        port=port,
        ssl_certfile=certificate,
        ssl_keyfile=key,
        ssl_version=ssl.PROTOCOL_TLS_SERVER,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=2,
        timeout_keep_alive=30,
    )
    beside: list[asyncio.Task[None]] = []
    with locked(home / ".lock", partial(say, f"Waiting for another gateway with {home}")):
        try:
            if here:
                log = home / "ray.log"
                say(f"Starting Ray; it writes to {log}")
                beside.append(asyncio.create_task(_keep(_ray_head(address, log))))
                try:
                    async with asyncio.timeout(_RAY_START):
                        await _wait_for_head(address)
                except TimeoutError as error:
                    raise FleetError(f"Ray did not start within {_RAY_START:g} s; see {log}") from error
                beside.append(asyncio.create_task(_keep(_worker(address), address)))
            say(f"Gateway at {'https' if certificate else 'http'}://{host}:{port}")
            await uvicorn.Server(config).serve()
        finally:
            for task in reversed(beside):
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)


async def _wait_for_head(address: str) -> None:
    while True:
        with suppress(FleetError):
            await in_daemon_thread(check_head, address)
            return
        await asyncio.sleep(_LOOK)


async def _keep(command: Sequence[str], head: str = "") -> None:
    """Run a command and restart it whenever it ends, once `head` accepts connections."""
    while True:
        if head:
            await _wait_for_head(head)
        process = await asyncio.create_subprocess_exec(*command, start_new_session=True)
        try:
            await process.wait()
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.send_signal(signal.SIGTERM)
                with suppress(TimeoutError):
                    async with asyncio.timeout(10):
                        await process.wait()
                with suppress(ProcessLookupError):
                    process.kill()
        await asyncio.sleep(_AGAIN)


def _ray_head(address: str, log: Path) -> Sequence[str]:
    """Return the command that starts Ray's head on loopback."""
    port = address.rpartition(":")[2]
    return (
        *("sh", "-c", f'exec "$@" > {shlex.quote(str(log))} 2>&1', "sh"),
        *(f"{_FOLDER}/ray", "start", "--head", "--block", f"--port={port}", "--node-ip-address=127.0.0.1"),
        *("--include-dashboard=false", "--disable-usage-stats", "--num-cpus=1"),
    )


def _worker(address: str) -> Sequence[str]:
    return f"{_FOLDER}/agent", "fleet", "worker", "--address", address
