"""A ScriptRunner whose scripts run on the machines behind a gateway; needs no Ray and opens no port."""

import asyncio
import base64
import contextlib
import os
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event, Lock
from typing import Any

from skillkit.core.authority import Requester, asking_for, current_requester
from skillkit.core.digest_memo import DigestMemo
from skillkit.core.exceptions import ConfigurationError, SkillsUseError
from skillkit.core.foreign_json import parse_json
from skillkit.core.pinned_trees import ChangedTreeError
from skillkit.fleet.cluster import FleetError
from skillkit.fleet.gateway_client import GatewayClient, RefusedError, UnreachableError, check_url
from skillkit.fleet.packing import pack_request, pack_tree
from skillkit.fleet.sealing import TENANT_SETTING, Label, SealError, TenantKey
from skillkit.scripts.documents import DocumentError, result_from_json
from skillkit.scripts.inputs import InputsError, check_project
from skillkit.scripts.models import Outcome, ScriptRequest, ScriptResult
from skillkit.scripts.pinned_run import LOCALE, LinkedPathError

BACKEND = "fleet"
"""What a result names as its sandbox when no machine's sandbox was reached."""
_AT_ONCE = 512
"""Runs that one program waits for at the same time; more are sent as these end."""
_RETRIES = 3
"""How often a script that is safe to retry is started again after its machine was lost."""
_WAIT = 5
_AGAIN = 0.2
_UPLOAD = 120.0
_CANCELLED = ScriptResult(Outcome.CANCELLED, BACKEND, message="Script was cancelled")


class RemoteRunner:
    """Runs requests on a fleet: the same results, codes, limits and grants as on this machine.

    A script is started at most once; one whose machine was lost ends as `lost`, unless its skill
    declares it safe to retry. Nothing is sent before the first run.
    """

    def __init__(
        self,
        url: str,
        key: str | Mapping[str, str] | None = None,
        *,
        ca: Path | None = None,
        patience: float = 8.0,
        priority: int = 0,
        shared_paths: Iterable[Path] = (),
        keep_results: float = 0.0,
        on_start: Callable[[str], None] | None = None,
        follow: Callable[[ScriptRequest, str], None] | None = None,
    ) -> None:
        """`url` is the gateway's, `key` a tenant's key or one for each tenant that this program serves.

        Without `key` it is read from SKILLKIT_FLEET_KEY or `~/.agent/fleet.key`. `ca` is a certificate to
        trust besides the system's. A gateway may be away for `patience` seconds. Granted paths are refused,
        except beneath `shared_paths`, which are the same files on every machine. With `keep_results` a run
        outlives this program, and `collect` gets its result for that many seconds; `on_start` is told the
        name by which.
        """
        check_url(url)
        self.url = url
        self._given = key
        self._ca = ca
        self.patience = patience
        self.priority = priority
        self._shared = tuple(path.absolute() for path in shared_paths)
        self.keep_results = keep_results
        self.on_start = on_start
        self.follow = follow
        """Is told each line that a script prints, on either stream, while it runs."""
        self._lock = Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._runs: set[_Run] = set()
        self._tenants: dict[str, _Tenant] = {}

    def run(self, request: ScriptRequest) -> ScriptResult:
        """Run one request to its end. Interrupting the caller kills the script."""
        run, future = self._submit(request)
        try:
            return future.result()
        except BaseException:
            run.cancel()
            raise

    async def arun(self, request: ScriptRequest) -> ScriptResult:
        """`run` without blocking; cancelling the awaiting task kills the script before it returns."""
        run, future = self._submit(request)
        waiting = asyncio.wrap_future(future)
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            await asyncio.to_thread(run.cancel)
            await asyncio.wait([waiting])
            raise

    def prepare(self, request: ScriptRequest) -> dict[str, str]:
        """Bring what a request needs to every machine; return why that cannot be, "" where it is there."""
        return self._tenant().prepare(request)

    def collect(self, name: str) -> ScriptResult:
        """Return the result of a run that was kept, by the name that `on_start` was told."""
        return self._tenant().collect(name)

    def close(self) -> None:
        """Cancel what is running and end the connections."""
        with self._lock:
            pool, self._pool = self._pool, None
            runs, self._runs = self._runs, set()
            tenants, self._tenants = self._tenants, {}
        for run in runs:
            run.cancel()
        if pool is not None:
            pool.shutdown()
        for tenant in tenants.values():
            tenant.client.close()

    def _submit(self, request: ScriptRequest) -> "tuple[_Run, Future[ScriptResult]]":
        locale = {name: os.environ[name] for name in LOCALE if name in os.environ}
        request = replace(request, environment={**locale, **request.environment})
        run, requester = _Run(self, request), current_requester()
        with self._lock:
            self._pool = self._pool or ThreadPoolExecutor(_AT_ONCE, "skillkit-fleet")
            self._runs.add(run)
            future = self._pool.submit(self._run, run, requester)
        return run, future

    def _run(self, run: "_Run", requester: Requester) -> ScriptResult:
        try:
            if (refused := self._refusal(run.request)) is not None:
                return ScriptResult(Outcome.REFUSED, BACKEND, message=refused)
            with asking_for(requester):
                return run.to_end(self._tenant())
        except (ChangedTreeError, LinkedPathError) as error:
            return ScriptResult(Outcome.REFUSED, BACKEND, message=str(error))
        except (SkillsUseError, OSError) as error:
            return ScriptResult(Outcome.BROKEN, BACKEND, message=f"The script was not started: {error}")
        finally:
            with self._lock:
                self._runs.discard(run)

    def _refusal(self, request: ScriptRequest) -> str | None:
        """Why a request cannot leave this machine."""
        project: tuple[Path, ...] = ()
        if request.project is not None:
            try:
                project = (check_project(request.project),)
            except InputsError as error:
                return str(error)
        for path in (*request.read_paths, *request.write_paths, *project):
            if not any(path.is_relative_to(shared) for shared in self._shared):
                return (
                    f"The granted path {path} is on this machine, and the script runs on another one; "
                    "grant a path that all machines share, or run it here"
                )
        return None

    def _tenant(self) -> "_Tenant":
        """Return the key and connections for whoever this program acts for at the moment."""
        name = (current_requester().tenant or "default") if isinstance(self._given, Mapping) else ""
        with self._lock:
            if name not in self._tenants:
                key = self._key(name)
                self._tenants[name] = _Tenant(GatewayClient(self.url, key.token, self._ca), key)
            return self._tenants[name]

    def _key(self, tenant: str) -> TenantKey:
        if isinstance(self._given, str):
            return TenantKey.parse(self._given)
        if self._given is None:
            return TenantKey.read()
        if tenant not in self._given:
            raise ConfigurationError(f"No key of tenant '{tenant}' was given to this runner", TENANT_SETTING)
        return TenantKey.parse(self._given[tenant])


class _Tenant:
    """One tenant's key and connections."""

    def __init__(self, client: GatewayClient, key: TenantKey) -> None:
        self.client = client
        self.key = key

    def seal(self, run: str, request: ScriptRequest, keep: float = 0.0, *, follow: bool = False) -> bytes:
        label = Label(run, self.key.tenant, request.digest, keep=keep, follow=follow)
        return self.key.seal(label, pack_request(request))

    def open(self, encoded: str, run: str, kind: str) -> bytes:
        label, content = self.key.open(base64.b64decode(encoded))
        if (label.kind, label.run) != (kind, run):
            raise SealError(f"unexpected document (expected {kind})")
        return content

    def upload(self, request: ScriptRequest) -> None:
        packed = _pack_approved(request)
        self.client.ask("PUT", f"/v1/trees/{request.digest}", packed, seconds=_UPLOAD)

    def prepare(self, request: ScriptRequest) -> dict[str, str]:
        sealed = self.seal(uuid.uuid4().hex, request)
        answer = self.client.ask("POST", "/v1/prepare", sealed, seconds=_UPLOAD)
        if answer["state"] == "tree":
            self.upload(request)
            answer = self.client.ask("POST", "/v1/prepare", sealed, seconds=_UPLOAD)
        return dict(answer["machines"])

    def collect(self, run: str) -> ScriptResult:
        while True:
            try:
                answer = self.client.ask("GET", f"/v1/runs/{run}", wait=_WAIT)
            except RefusedError as error:
                raise FleetError(f"No result of run {run}, or not any more ({error})") from error
            if answer["state"] == "result":
                return result_from_json(self.open(answer["result"], run, "result"))
            if answer["state"] not in ("waiting", "running", "tree"):
                raise FleetError(answer["message"] or answer["state"])


class _Run:
    """One run of a program, over whatever happens to gateway and machines."""

    def __init__(self, runner: RemoteRunner, request: ScriptRequest) -> None:
        self.request = request
        self._runner = runner
        self._follow = None if runner.follow is None else partial(runner.follow, request)
        self._cancelled = Event()
        self._name = ""
        self._tenant: _Tenant | None = None
        self._taken = False
        """Whether the gateway may have this submission."""
        self._away_since: float | None = None

    def cancel(self) -> None:
        """Kill the script; the result is there when it is gone."""
        self._cancelled.set()
        if self._tenant is not None:  # what waits for the gateway's answer gets it at once
            with contextlib.suppress(FleetError):
                self._tenant.client.ask("DELETE", f"/v1/runs/{self._name}")

    def to_end(self, tenant: _Tenant) -> ScriptResult:
        """Return what came of the request, whatever happens to gateway and machines."""
        retries = _RETRIES if self.request.retry_safe else 0
        while True:
            result = self._once(tenant, uuid.uuid4().hex)
            if result is not None and not (result.outcome is Outcome.LOST and retries):
                return result
            retries -= result is not None

    def _once(self, tenant: _Tenant, run: str) -> ScriptResult | None:
        """Return the result of one submission, None if the gateway lost it before it started."""
        follow = self._follow is not None
        sealed = tenant.seal(run, self.request, self._runner.keep_results, follow=follow)
        self._tenant, self._name, self._taken = tenant, run, False
        told, position = self._runner.on_start is None, 0
        while True:
            if self._cancelled.is_set() and not self._taken:
                return _CANCELLED
            try:
                answer = self._ask(tenant, sealed, position, start=not told)
            except UnreachableError as error:
                if (result := self._wait_for_gateway(error)) is not None:
                    return result
                continue
            except RefusedError as error:
                if error.status != 404:
                    raise
                return _CANCELLED if self._cancelled.is_set() else None
            self._away_since, self._taken = None, True
            if answer["state"] == "tree":
                self._upload(tenant)
                continue
            position += self._tell(tenant, answer["output"])
            if answer["state"] == "running" and not told and self._runner.on_start is not None:
                self._runner.on_start(run)
                told = True
            if (result := self._result(tenant, answer)) is not None:
                return result

    def _ask(self, tenant: _Tenant, sealed: bytes, position: int, *, start: bool) -> dict[str, Any]:
        """Submit the run, or ask for it, or for its end; wait some seconds for news."""
        query: dict[str, Any] = {"wait": _WAIT, "from": position, "priority": self._runner.priority}
        if start:
            query["start"] = 1
        method, path, body = "POST", "/v1/runs", sealed
        if self._taken:
            method = "DELETE" if self._cancelled.is_set() else "GET"
            path, body = f"/v1/runs/{self._name}", b""
        return tenant.client.ask(method, path, body, seconds=_WAIT + 10.0, **query)

    def _upload(self, tenant: _Tenant) -> None:
        """Upload the tree; a gateway that is away meanwhile is met by the next question."""
        try:
            tenant.upload(self.request)
        except UnreachableError:
            return
        except Exception:
            self.cancel()
            raise

    def _wait_for_gateway(self, error: UnreachableError) -> ScriptResult | None:
        """Return None to try again, or a result after the gateway was away for too long."""
        now = time.monotonic()
        self._taken = self._taken or error.sent
        self._away_since = now if self._away_since is None else self._away_since
        if now - self._away_since <= self._runner.patience:
            time.sleep(_AGAIN)
            return None
        if self._taken:
            return ScriptResult(Outcome.LOST, BACKEND, message=f"{error}; the script may have run")
        message = f"The script was not started: {error}. Is `agent fleet gateway` running?"
        return ScriptResult(Outcome.BROKEN, BACKEND, message=message)

    def _tell(self, tenant: _Tenant, output: list[str]) -> int:
        for sealed in output:
            for line in parse_json(tenant.open(sealed, self._name, "output")):
                if self._follow is not None:
                    self._follow(line)
        return len(output)

    def _result(self, tenant: _Tenant, answer: Mapping[str, Any]) -> ScriptResult | None:
        """Return the result that an answer of the gateway holds, None while the run goes on."""
        state, message = answer["state"], answer["message"]
        if state == "result":
            try:
                return result_from_json(tenant.open(answer["result"], self._name, "result"))
            except (SealError, DocumentError) as error:
                message = f"The machine sent something else than a result ({error}); the script may have run"
                return ScriptResult(Outcome.LOST, BACKEND, message=message)
        ended = {"lost": Outcome.LOST, "broken": Outcome.BROKEN, "cancelled": Outcome.CANCELLED}
        if state not in ended:
            return None
        return ScriptResult(ended[state], BACKEND, message=message or "Script was cancelled")


def _pack_approved(request: ScriptRequest) -> bytes:
    """Return the tree as it travels; ChangedTreeError if it is not the approved one any more.

    Machines compare the digest of what arrives: this is for a reason that names the user's folder.
    """
    packed = pack_tree(request.base_dir)
    if DigestMemo().with_links(request.base_dir).digest != request.digest:
        raise ChangedTreeError.of(request.base_dir)
    return packed
