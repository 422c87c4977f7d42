"""The HTTPS side of a gateway: what tenants and operators can ask, and the process that answers."""

import asyncio
import base64
import os
import signal
import ssl
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from skillkit.core.digest_memo import MAX_BYTES
from skillkit.core.disk import agent_home, locked
from skillkit.fleet import PORT
from skillkit.fleet.cluster import FleetError
from skillkit.fleet.engine import Engine
from skillkit.fleet.fair_queue import QueueFullError
from skillkit.fleet.gateway import Gateway, Run
from skillkit.fleet.joining import is_loopback
from skillkit.fleet.operations import metrics_text
from skillkit.fleet.sealing import OPERATOR, FleetKeys, SealError

_MAX_BODY = 2 * MAX_BYTES
_MAX_WAIT = 5.0
"""Seconds that a question about a run waits at most; it is the program's sign of life."""
_AGAIN = 2.0

Handler = Callable[[Gateway, str, Request], Awaitable[Response]]


def make_app(gateway: Gateway) -> Starlette:
    """Return the ASGI application of a gateway; it serves as long as the application lives."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with gateway.serving():
            yield

    def route(path: str, method: str, handler: Handler) -> Route:
        async def endpoint(request: Request) -> Response:
            return await handler(gateway, _tenant(gateway, request), request)

        return Route(path, endpoint, methods=[method])

    return Starlette(
        routes=[
            Route("/healthz", lambda _: PlainTextResponse("ok\n")),
            route("/v1/runs", "POST", _submit),
            route("/v1/runs/{run}", "GET", _show),
            route("/v1/runs/{run}", "DELETE", _cancel),
            route("/v1/trees/{digest}", "PUT", _add_tree),
            route("/v1/prepare", "POST", _prepare),
            route("/v1/status", "GET", _status),
            route("/v1/metrics", "GET", _metrics),
            route("/v1/machines/{machine}/drain", "POST", _drain),
        ],
        lifespan=lifespan,
        exception_handlers={SealError: _refused, QueueFullError: _busy, FleetError: _busy},
    )


def _tenant(gateway: Gateway, request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    tenant = gateway.keys.tenant_of(token) if scheme.lower() == "bearer" else None
    if tenant is None:
        raise HTTPException(401, "unknown key", {"WWW-Authenticate": "Bearer"})
    return tenant


async def _submit(gateway: Gateway, tenant: str, request: Request) -> Response:
    run = gateway.submit(tenant, await _body(request), _number(request, "priority"))
    return await _answer(gateway, run, request)


async def _show(gateway: Gateway, tenant: str, request: Request) -> Response:
    return await _answer(gateway, _run(gateway, tenant, request), request)


async def _cancel(gateway: Gateway, tenant: str, request: Request) -> Response:
    run = _run(gateway, tenant, request)
    await gateway.cancel(run)
    return await _answer(gateway, run, request)


async def _answer(gateway: Gateway, run: Run, request: Request) -> Response:
    """Return how a run is: at once if its program has something to do, else after some seconds."""
    position, seconds = _number(request, "from"), min(_number(request, "wait"), _MAX_WAIT)
    await gateway.wait(run, position, seconds, start="start" in request.query_params)
    words: dict[str, Any] = {"state": run.state, "message": run.message, "machine": run.worker}
    words["output"] = [base64.b64encode(each).decode() for each in run.output[position:]]
    if run.state == "result":
        words["result"] = base64.b64encode(run.answer).decode()
    return JSONResponse(words)


async def _add_tree(gateway: Gateway, tenant: str, request: Request) -> Response:
    packed = await _body(request)
    await gateway.add_tree(tenant, request.path_params["digest"], packed)
    return Response(status_code=204)


async def _prepare(gateway: Gateway, tenant: str, request: Request) -> Response:
    sealed = await _body(request)
    label, _ = gateway.keys.open(sealed)
    if not await asyncio.to_thread(gateway.trees(tenant).has, label.digest):
        return JSONResponse({"state": "tree"})
    return JSONResponse({"state": "result", "machines": await gateway.prepare(tenant, sealed)})


async def _status(gateway: Gateway, tenant: str, _: Request) -> Response:
    return JSONResponse(gateway.status(None if tenant == OPERATOR else tenant))


async def _metrics(gateway: Gateway, tenant: str, _: Request) -> Response:
    _only_operators(tenant)
    return PlainTextResponse(metrics_text(gateway.status()))


async def _drain(gateway: Gateway, tenant: str, request: Request) -> Response:
    _only_operators(tenant)
    return JSONResponse({"drained": await gateway.drain(request.path_params["machine"])})


def _run(gateway: Gateway, tenant: str, request: Request) -> Run:
    run = gateway.find(tenant, request.path_params["run"])
    if run is None:
        raise HTTPException(404, "unknown run")
    return run


def _only_operators(tenant: str) -> None:
    if tenant != OPERATOR:
        raise HTTPException(403, f"only the key of tenant '{OPERATOR}' may do this")


def _number(request: Request, name: str) -> int:
    try:
        return int(request.query_params.get(name, "0"))
    except ValueError as error:
        raise HTTPException(400, f"'{name}' is not a number") from error


async def _body(request: Request) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > _MAX_BODY:
            raise HTTPException(413, f"body exceeds {_MAX_BODY:,} bytes")
        parts.append(part)
    return b"".join(parts)


def _refused(_: Request, error: Exception) -> Response:
    return PlainTextResponse(str(error), 400)


def _busy(_: Request, error: Exception) -> Response:
    return PlainTextResponse(str(error), 503, {"Retry-After": "1"})


# The process


@dataclass(frozen=True, slots=True)
class GatewayOptions:
    """How `agent fleet gateway` serves."""

    address: str
    """`ray://HOST:PORT` of the cluster's head."""
    host: str = "127.0.0.1"
    port: int = PORT
    certificate: Path | None = None
    key: Path | None = None
    """Of TLS; without both, only loopback is served."""
    keys: Path | None = None
    home: Path | None = None

    @property
    def url(self) -> str:
        return f"{'https' if self.certificate else 'http'}://{self.host}:{self.port}"


async def serve_gateway(
    options: GatewayOptions,
    *,
    beside: Sequence[Sequence[str]] = (),
    say: Callable[[str], None] = lambda line: None,
) -> None:
    """Serve until SIGTERM or an interrupt; commands `beside` it are started again whenever they end."""
    import uvicorn

    if options.certificate is None and not is_loopback(options.host):
        raise FleetError(
            f"{options.host} is reached over a network, so programs need TLS: add --tls-cert and --tls-key"
        )
    home = options.home or agent_home() / "gateway"
    keys = FleetKeys.read(options.keys)
    gateway = Gateway(Engine(options.address, say), keys, home, say)
    config = uvicorn.Config(
        make_app(gateway),
        host=options.host,
        port=options.port,
        ssl_certfile=options.certificate,
        ssl_keyfile=options.key,
        ssl_version=ssl.PROTOCOL_TLS_SERVER,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=2,
        timeout_keep_alive=30,
    )
    async with AsyncExitStack() as held:
        held.enter_context(locked(home / ".lock", partial(say, f"Waiting for another gateway with {home}")))
        for command in beside:
            task = asyncio.create_task(_keep(command))
            held.push_async_callback(_stop, task)
        say(f"Gateway at {options.url}")
        await uvicorn.Server(config).serve()


async def _keep(command: Sequence[str]) -> None:
    while True:
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


async def _stop(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def one_machine(options: GatewayOptions) -> tuple[Sequence[str], Sequence[str]]:
    """Return the commands that make this machine a whole fleet: Ray's head and a worker, on loopback."""
    port = options.address.rpartition(":")[2]
    folder = os.path.dirname(sys.executable)
    head = (
        *(f"{folder}/ray", "start", "--head", "--block", f"--port={port}", "--node-ip-address=127.0.0.1"),
        *("--include-dashboard=false", "--disable-usage-stats", "--num-cpus=1"),
    )
    return head, (f"{folder}/agent", "fleet", "worker", "--address", options.address)
