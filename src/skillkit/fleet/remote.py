"""A ScriptRunner that runs scripts on the machines of a gateway; needs no Ray and opens no port."""

import base64
import contextlib
import os
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event, Lock
from typing import Any

from skillkit.core.authority import Requester, asking_for, current_requester
from skillkit.core.digest_memo import DigestMemo
from skillkit.core.exceptions import ConfigurationError, SkillsUseError
from skillkit.core.pinned_trees import ChangedTreeError
from skillkit.fleet.cluster import REMEMBERED, FleetError
from skillkit.fleet.gateway_client import GatewayClient, RefusedError, UnreachableError, check_url
from skillkit.fleet.packing import pack_request, pack_tree
from skillkit.fleet.sealing import TENANT_SETTING, Label, SealError, TenantKey
from skillkit.scripts.documents import DocumentError, result_from_json
from skillkit.scripts.exceptions import RefusedRunError
from skillkit.scripts.inputs import InputsError, check_project
from skillkit.scripts.models import Outcome, ScriptRequest, ScriptResult, ThreadedRunner
from skillkit.scripts.pinned_run import LOCALE

BACKEND = "fleet"
"""The sandbox in a result if no machine's sandbox was reached."""
_AT_ONCE = 512
"""Limit of runs in flight per program; further ones wait for these."""
_RETRIES = 3
"""Number of restarts of a script that is safe to retry, after its machine was lost."""
_WAIT = 3.0
"""Seconds that a request waits for a change, if the program has that much patience."""
_AGAIN = 0.2
_UPLOAD = 120.0
_CANCELLED = ScriptResult(Outcome.CANCELLED, BACKEND, message="Script was cancelled")


class RemoteRunner(ThreadedRunner):
    """Runs requests on a fleet: with the same results, codes, limits and grants as on this machine.

    A script is started at most once; if its machine is lost, the run ends as `lost`, unless its skill
    declares it safe to retry. Nothing is sent before the first run.
    """

    def __init__(
        self,
        url: str,
        key: str | Mapping[str, str] | None = None,
        *,
        ca: Path | None = None,
        patience: float = 9.0,
        priority: int = 0,
        shared_paths: Iterable[Path] = (),
        keep_results: float = 0.0,
        on_start: Callable[[str], None] | None = None,
    ) -> None:
        """`url` is the gateway's, `key` a tenant's key or one for each tenant that this program serves.

        Without `key` it is read from SKILLKIT_FLEET_KEY or `~/.agent/fleet.key`. `ca` is a certificate to
        trust besides the system's. The gateway may be unreachable for `patience` seconds. Granted paths are
        refused, except beneath `shared_paths`, which are the same files on every machine. With `keep_results`
        a run outlives this program, and `collect` returns its result for that many seconds; `on_start` is
        called with the run's name when it is sent.
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
        self._lock = Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._runs: set[_Run] = set()
        self._tenants: dict[str, _Tenant] = {}

    def prepare(self, request: ScriptRequest) -> dict[str, str]:
        """Transfer a request's tree and packages to every machine; return the error by host, "" for
        success."""
        return self._tenant().prepare(request)

    def collect(self, name: str) -> ScriptResult:
        """Return the kept result of a run, by the name passed to `on_start`."""
        return self._tenant().collect(name)

    def close(self) -> None:
        """Cancel the current runs and close the connections."""
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

    def _submit(self, request: ScriptRequest) -> "tuple[Callable[[], None], Future[ScriptResult]]":
        locale = {name: os.environ[name] for name in LOCALE if name in os.environ}
        request = replace(request, environment={**locale, **request.environment})
        run, requester = _Run(self, request), current_requester()
        with self._lock:
            self._pool = self._pool or ThreadPoolExecutor(_AT_ONCE, "skillkit-fleet")
            self._runs.add(run)
            future = self._pool.submit(self._run, run, requester)
        future.add_done_callback(lambda _: self._forget(run))
        return run.cancel, future

    def _forget(self, run: "_Run") -> None:
        with self._lock:
            self._runs.discard(run)

    def _run(self, run: "_Run", requester: Requester) -> ScriptResult:
        try:
            if (refused := self._refusal(run.request)) is not None:
                return ScriptResult(Outcome.REFUSED, BACKEND, message=refused)
            with asking_for(requester):
                return run.to_end(self._tenant())
        except (ChangedTreeError, RefusedRunError) as error:
            return ScriptResult(Outcome.REFUSED, BACKEND, message=str(error))
        except (SkillsUseError, OSError) as error:
            return ScriptResult(Outcome.BROKEN, BACKEND, message=f"The script was not started: {error}")

    def _refusal(self, request: ScriptRequest) -> str | None:
        """Return why a request must not leave this machine; None if it may."""
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
        """Return the key and connections for the program's current tenant."""
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
            raise ConfigurationError(f"This runner has no key of tenant '{tenant}'", TENANT_SETTING)
        return TenantKey.parse(self._given[tenant])


class _Tenant:
    """One tenant's key and connections."""

    def __init__(self, client: GatewayClient, key: TenantKey) -> None:
        self.client = client
        self.key = key

    def seal(self, run: str, request: ScriptRequest, keep: float = 0.0) -> bytes:
        label = Label(run, self.key.tenant, request.digest, keep=keep)
        return self.key.seal(label, pack_request(request))

    def result(self, run: str, encoded: str) -> ScriptResult:
        """Return the sealed result of a run; SealError or DocumentError if invalid."""
        label, content = self.key.open(base64.b64decode(encoded))
        if (label.kind, label.run) != ("result", run):
            raise SealError("unexpected document (expected result)")
        return result_from_json(content)

    def upload(self, request: ScriptRequest, seconds: float = _UPLOAD) -> None:
        packed = _pack_approved(request)
        self.client.ask("PUT", f"/v1/trees/{request.digest}", packed, seconds=seconds)

    def prepare(self, request: ScriptRequest) -> dict[str, str]:
        sealed = self.seal(uuid.uuid4().hex, request)
        answer = self.client.ask("POST", "/v1/prepare", sealed, seconds=_UPLOAD)
        if answer["machines"] is None:
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
                return self.result(run, answer["result"])
            if answer["state"] not in ("waiting", "running", "tree"):
                raise FleetError(answer["message"] or answer["state"])


class _Run:
    """One run of a program, across failures of gateway and machines."""

    def __init__(self, runner: RemoteRunner, request: ScriptRequest) -> None:
        self.request = request
        self._runner = runner
        self._cancelled = Event()
        self._name = ""
        self._tenant: _Tenant | None = None
        self._taken = False
        """Whether the gateway may have received this submission."""
        self._away_since: float | None = None

    def cancel(self) -> None:
        """Kill the script; the result follows once it is gone."""
        self._cancelled.set()
        if self._tenant is not None:  # wake the thread that waits for the gateway's response
            with contextlib.suppress(FleetError):
                self._tenant.client.ask("DELETE", f"/v1/runs/{self._name}")

    def to_end(self, tenant: _Tenant) -> ScriptResult:
        """Return the result of the request, across failures of gateway and machines."""
        retries = _RETRIES if self.request.retry_safe else 0
        while True:
            result = self._once(tenant, uuid.uuid4().hex)
            if result is not None and not (result.outcome is Outcome.LOST and retries):
                return result
            retries -= result is not None

    def _once(self, tenant: _Tenant, run: str) -> ScriptResult | None:
        """Return the result of one submission; None if the gateway lost it before it started."""
        sealed, submitted = tenant.seal(run, self.request, self._runner.keep_results), time.time()
        self._tenant, self._name, self._taken = tenant, run, False
        if self._runner.on_start is not None:
            self._runner.on_start(run)
        while True:
            if self._cancelled.is_set() and not self._taken:
                return _CANCELLED
            began = time.monotonic()
            away_since = began if self._away_since is None else self._away_since
            left = self._runner.patience - (began - away_since)
            try:
                answer = self._ask(tenant, sealed, max(left, 1.0))
            except UnreachableError as error:
                self._away_since = away_since
                if (result := self._wait_for_gateway(error)) is not None:
                    return result
                continue
            except RefusedError as error:
                if error.status in (404, 410) and self._cancelled.is_set():
                    return _CANCELLED
                if error.status == 404 and time.time() - submitted < REMEMBERED:
                    return None
                if self._taken or error.status in (410, 500):
                    return _lost(error)
                raise
            self._away_since, self._taken = None, True
            if answer["state"] == "tree":
                self._upload(tenant)
                continue
            if (result := self._result(tenant, answer)) is not None:
                return result

    def _ask(self, tenant: _Tenant, sealed: bytes, seconds: float) -> dict[str, Any]:
        """Submit, poll or cancel the run; wait for a change for a part of the seconds."""
        query = {"wait": min(_WAIT, seconds / 2), "priority": self._runner.priority}
        method, path, body = "POST", "/v1/runs", sealed
        if self._taken:
            method = "DELETE" if self._cancelled.is_set() else "GET"
            path, body = f"/v1/runs/{self._name}", b""
        return tenant.client.ask(method, path, body, seconds=min(_WAIT + 10.0, seconds), **query)

    def _upload(self, tenant: _Tenant) -> None:
        """Upload the tree; if the gateway is unreachable, the next request handles it."""
        began = time.monotonic()
        try:
            tenant.upload(self.request, min(_UPLOAD, self._runner.patience))
        except UnreachableError:
            self._away_since = began
        except Exception:
            self.cancel()
            raise

    def _wait_for_gateway(self, error: UnreachableError) -> ScriptResult | None:
        """Return None to retry, or a result once the gateway was unreachable for too long."""
        assert self._away_since is not None
        self._taken = self._taken or error.sent
        if time.monotonic() + _AGAIN - self._away_since < self._runner.patience:
            time.sleep(_AGAIN)
            return None
        if self._taken:
            return _lost(error)
        message = f"The script was not started: {error}. Is `agent fleet gateway` running?"
        return ScriptResult(Outcome.BROKEN, BACKEND, message=message)

    def _result(self, tenant: _Tenant, answer: Mapping[str, Any]) -> ScriptResult | None:
        """Return the result in the gateway's response; None while the run continues."""
        state, message = answer["state"], answer["message"]
        if state == "result":
            try:
                return tenant.result(self._name, answer["result"])
            except (SealError, DocumentError) as error:
                return _lost(f"Unexpected answer from the machine ({error})")
        ended = {"lost": Outcome.LOST, "broken": Outcome.BROKEN, "cancelled": Outcome.CANCELLED}
        if state not in ended:
            return None
        return ScriptResult(ended[state], BACKEND, message=message or "Script was cancelled")


def _lost(why: object) -> ScriptResult:
    return ScriptResult(Outcome.LOST, BACKEND, message=f"{why}; the script may have run")


def _pack_approved(request: ScriptRequest) -> bytes:
    """Pack the tree for transfer; ChangedTreeError if it is not the approved one any more.

    Machines verify the digest too; this check gives an error that names the user's folder.
    """
    packed = pack_tree(request.base_dir)
    if DigestMemo().with_links(request.base_dir).digest != request.digest:
        raise ChangedTreeError.of(request.base_dir)
    return packed
