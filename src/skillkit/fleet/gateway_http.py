"""The HTTPS interface of a gateway for tenants and operators."""

import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from skillkit.core.limits import TREE_BYTES
from skillkit.fleet.cluster import FleetError
from skillkit.fleet.fair_queue import QueueFullError
from skillkit.fleet.gateway import EndedRunError, Gateway, Run
from skillkit.fleet.sealing import OPERATOR, SealError

_MAX_BODY = 2 * TREE_BYTES
_MAX_WAIT = 5.0
"""Maximum long-poll in seconds for a run; each request also counts as the program's heartbeat."""

Handler = Callable[[Gateway, str, Request], Awaitable[Response]]


def make_app(gateway: Gateway) -> Starlette:
    """Return the ASGI application of a gateway; the gateway runs for the lifetime of the application."""

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
            route("/v1/machines/{machine}/drain", "POST", _drain),
        ],
        lifespan=lifespan,
        exception_handlers={
            SealError: _refused,
            QueueFullError: _busy,
            FleetError: _busy,
            EndedRunError: _ended,
        },
    )


def _tenant(gateway: Gateway, request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    tenant = gateway.keys.tenant_of(token) if scheme.lower() == "bearer" else None
    if tenant is None:
        raise HTTPException(401, "unknown key", {"WWW-Authenticate": "Bearer"})
    return tenant


async def _submit(gateway: Gateway, tenant: str, request: Request) -> Response:
    run = gateway.submit(tenant, await _body(request), int(_number(request, "priority")))
    return await _answer(gateway, run, request)


async def _show(gateway: Gateway, tenant: str, request: Request) -> Response:
    return await _answer(gateway, _run(gateway, tenant, request), request)


async def _cancel(gateway: Gateway, tenant: str, request: Request) -> Response:
    run = _run(gateway, tenant, request)
    await gateway.cancel(run)
    return await _answer(gateway, run, request)


async def _answer(gateway: Gateway, run: Run, request: Request) -> Response:
    """Return the state of a run: at once if its program has to act, else after a long poll."""
    await gateway.wait(run, min(_number(request, "wait"), _MAX_WAIT))
    result = base64.b64encode(run.answer).decode()
    return JSONResponse({"state": run.state, "message": run.message, "result": result})


async def _add_tree(gateway: Gateway, tenant: str, request: Request) -> Response:
    gateway.add_tree(tenant, request.path_params["digest"], await _body(request))
    return Response(status_code=204)


async def _prepare(gateway: Gateway, tenant: str, request: Request) -> Response:
    return JSONResponse({"machines": await gateway.prepare(tenant, await _body(request))})


async def _status(gateway: Gateway, tenant: str, _: Request) -> Response:
    return JSONResponse(gateway.status(None if tenant == OPERATOR else tenant))


async def _drain(gateway: Gateway, tenant: str, request: Request) -> Response:
    if tenant != OPERATOR:
        raise HTTPException(403, f"only the key of tenant '{OPERATOR}' may do this")
    return JSONResponse({"drained": await gateway.machines.drain(request.path_params["machine"])})


def _run(gateway: Gateway, tenant: str, request: Request) -> Run:
    run = gateway.find(tenant, request.path_params["run"])
    if run is None:
        raise HTTPException(404, "unknown run")
    return run


def _number(request: Request, name: str) -> float:
    try:
        found = float(request.query_params.get(name, "0"))
        if abs(found) < 1e9:  # neither infinite nor NaN
            return found
    except ValueError:
        pass
    raise HTTPException(400, f"'{name}' is not a number")


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


def _ended(_: Request, error: Exception) -> Response:
    return PlainTextResponse(str(error), 410)


def _busy(_: Request, error: Exception) -> Response:
    return PlainTextResponse(str(error), 503, {"Retry-After": "1"})
