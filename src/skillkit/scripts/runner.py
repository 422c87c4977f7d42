"""Runs requests on this machine: environment, sandbox, capture, and a shared limit of concurrency."""

import asyncio
import os
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from skillkit.core.disk import agent_home
from skillkit.core.exceptions import ConfigurationError, ContentLoadError, PathSecurityError
from skillkit.core.path_resolver import open_beneath
from skillkit.scripts.capture import Cancellation, run_to_end
from skillkit.scripts.environments import (
    Allowances,
    CancelledError,
    DependencyError,
    Environment,
    EnvironmentStore,
    say_on_stderr,
)
from skillkit.scripts.inline_metadata import (
    MAX_SCRIPT_SIZE,
    InlineMetadata,
    InlineMetadataError,
    parse_inline_metadata,
)
from skillkit.scripts.interpreters import PYTHON, Interpreter, MissingInterpreterError, find_interpreter
from skillkit.scripts.models import Captured, Outcome, ScriptRequest, ScriptResult
from skillkit.scripts.sandbox.backend import (
    SEARCH_PATH,
    Backend,
    Confinement,
    OutOfReachError,
    SandboxError,
    needs_reachable_files,
    unreachable,
)
from skillkit.scripts.selection import NoSandboxError, SandboxSelection
from skillkit.scripts.staging import readable_skill

_PYTHON_OPTIONS = ("-E", "-s", "-B", "-X", "utf8")
_LOCALE = ("LANG", "LANGUAGE")
_WIDE_STORE = Path("/var/cache/skillkit/environments")
"""Where root keeps environments when its own folder is closed to the user that scripts run as."""
_Files = dict[tuple[Path, str], tuple[tuple[int, int, int], InlineMetadata, bytes]]


def environment_folders() -> tuple[Path, ...]:
    """Where environments of the default runner may be."""
    return (agent_home() / "environments", _WIDE_STORE)


class LocalRunner:
    """The ScriptRunner of this machine.

    Runs in threads of its own, `concurrency` at a time; more wait in line, first come first
    served. A thread stays with its script until the end, because the kernel's promise to kill a
    child with its parent is made to the thread that started it.
    """

    def __init__(
        self,
        home: Path | None = None,
        *,
        concurrency: int | None = None,
        sandbox: str | None = None,
        progress: Callable[[str], None] = say_on_stderr,
    ) -> None:
        self.environments = EnvironmentStore((home or agent_home()) / "environments", progress)
        self._wide = None if home is not None else EnvironmentStore(_WIDE_STORE, progress)
        self.sandbox = SandboxSelection((home or agent_home()) / "cache", sandbox)
        self._concurrency = concurrency or max(4, 2 * (os.cpu_count() or 1))
        self._pool = self._new_pool()
        self._process = os.getpid()
        self._parsed: _Files = {}

    def run(self, request: ScriptRequest) -> ScriptResult:
        """Run one request to its end. Interrupting the caller kills the script."""
        cancellation, future = self._submit(request)
        try:
            return future.result()
        except BaseException:
            cancellation.set()
            raise

    async def arun(self, request: ScriptRequest) -> ScriptResult:
        """`run` without blocking; cancelling the awaiting task kills the script before it returns."""
        cancellation, future = self._submit(request)
        waiting = asyncio.wrap_future(future)
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            if future.cancel():
                cancellation.close()
            else:
                cancellation.set()
                await asyncio.wait([waiting])
            raise

    def close(self) -> None:
        """Wait for what is running and let the threads go."""
        self._pool.shutdown()

    def _new_pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._concurrency, thread_name_prefix="skillkit-script")

    def _submit(self, request: ScriptRequest) -> tuple[Cancellation, "Future[ScriptResult]"]:
        cancellation = Cancellation()

        def work() -> ScriptResult:
            try:
                return self._execute(request, cancellation)
            finally:
                cancellation.close()

        if self._process != os.getpid():  # threads do not survive a fork
            self._pool, self._process = self._new_pool(), os.getpid()
        return cancellation, self._pool.submit(work)

    def _execute(self, request: ScriptRequest, cancellation: Cancellation) -> ScriptResult:
        try:
            backend = self.sandbox.choose(unsandboxed=request.unsandboxed)
        except (NoSandboxError, ConfigurationError) as error:
            return ScriptResult(Outcome.REFUSED, "none", message=str(error))
        try:
            with readable_skill(request, backend) as readable:
                return self._in_backend(readable, backend, cancellation)
        except (MissingInterpreterError, DependencyError, InlineMetadataError, OutOfReachError) as error:
            message = f"{request.script}: {error}" if isinstance(error, InlineMetadataError) else str(error)
            return ScriptResult(Outcome.DEPENDENCY, backend.name, message=message)
        except CancelledError as error:
            return ScriptResult(Outcome.CANCELLED, backend.name, message=str(error))
        except (SandboxError, ContentLoadError, PathSecurityError, OSError) as error:
            return ScriptResult(Outcome.BROKEN, backend.name, message=str(error))

    def _in_backend(
        self, request: ScriptRequest, backend: Backend, cancellation: Cancellation
    ) -> ScriptResult:
        metadata, first_bytes = self._read(request)
        interpreter = find_interpreter(request.script, first_bytes)
        if interpreter.kind != PYTHON:
            return self._start(request, backend, interpreter, None, cancellation)
        with self._store_for(backend).in_use(
            request.script_path,
            metadata,
            Allowances(request.source_builds, request.other_sources),
            reachable=needs_reachable_files(backend),
            cancellation=cancellation,
        ) as environment:
            return self._start(request, backend, interpreter, environment, cancellation)

    def _store_for(self, backend: Backend) -> EnvironmentStore:
        """Root's own folder only for backends that can show it to the user that scripts run as."""
        if self._wide is None or not needs_reachable_files(backend):
            return self.environments
        home = self.environments.folder
        existing = next(path for path in (home, *home.parents) if path.exists())
        return self.environments if unreachable(existing) is None else self._wide

    def _start(
        self,
        request: ScriptRequest,
        backend: Backend,
        interpreter: Interpreter,
        environment: Environment | None,
        cancellation: Cancellation,
    ) -> ScriptResult:
        work = backend.work_folder()
        confinement = _confinement(request, backend, interpreter, environment, work)
        started = time.perf_counter()
        running = backend.start(confinement, work)
        ended = run_to_end(running, request.limits, cancellation)
        duration = (time.perf_counter() - started) * 1000
        if ended.failure and ended.outcome is Outcome.EXITED:
            self.sandbox.forget()
            said = ended.stderr.ending(500).decode("utf-8", "replace").strip()
            message = f"{ended.failure}: {said}" if said else ended.failure
            return ScriptResult(Outcome.BROKEN, backend.name, message=message, duration_ms=duration)
        return ScriptResult(
            outcome=ended.outcome,
            backend=backend.name,
            exit_code=ended.exit_code if ended.outcome is Outcome.EXITED else None,
            stdout=ended.stdout,
            stderr=ended.stderr,
            duration_ms=duration,
            message=_said_of(ended.outcome, request, ended.stdout, ended.stderr),
        )

    def _read(self, request: ScriptRequest) -> tuple[InlineMetadata, bytes]:
        """The PEP 723 block and the first bytes of the script, read again only when it has changed."""
        with open_beneath(request.base_dir, request.script) as descriptor:
            found = os.fstat(descriptor)
            stamp = (found.st_ino, found.st_size, found.st_mtime_ns)
            known = self._parsed.get(place := (request.base_dir, request.script))
            if known is not None and known[0] == stamp:
                return known[1], known[2]
            if found.st_size > MAX_SCRIPT_SIZE:
                raise InlineMetadataError(f"larger than {MAX_SCRIPT_SIZE} bytes")
            with os.fdopen(os.dup(descriptor), "rb") as file:
                content = file.read(MAX_SCRIPT_SIZE)
        is_python = b"# /// script" in content
        metadata = parse_inline_metadata(content.decode("utf-8", "replace") if is_python else "")
        self._parsed[place] = (stamp, metadata, content[:256])
        return metadata, content[:256]


def _confinement(
    request: ScriptRequest,
    backend: Backend,
    interpreter: Interpreter,
    environment: Environment | None,
    work: str,
) -> Confinement:
    script = os.fspath(request.script_path)
    readable = {request.base_dir, *request.read_paths}
    programs = []
    if environment is None:
        command = (*interpreter.command, script)
        readable.update(interpreter.folders)
        programs.append(os.path.dirname(interpreter.command[0]))
    else:
        command = (str(environment.program), *_PYTHON_OPTIONS, *interpreter.command, script)
        readable.update((environment.folder, environment.python.prefix))
        programs.append(os.fspath(environment.folder / "bin"))
    search = SEARCH_PATH if backend.confines else os.environ.get("PATH", SEARCH_PATH)
    base = {
        "PATH": ":".join(dict.fromkeys([*programs, *search.split(":")])),
        "HOME": work,
        "TMPDIR": work,
        **{name: value for name, value in os.environ.items() if name in _LOCALE or name.startswith("LC_")},
        "SKILL_NAME": request.skill,
        "SKILL_BASE_DIR": os.fspath(request.base_dir),
        "SKILL_VERSION": request.version or "",
    }
    return Confinement(
        command=(*command, *request.arguments),
        folder=request.script_path.parent,
        environment={name: _passable(value) for name, value in {**base, **request.environment}.items()},
        limits=request.limits,
        read_only=tuple(sorted(readable)),
        writable=tuple(sorted(request.write_paths)),
        network=request.network,
    )


def _passable(value: str) -> str:
    """What a header says may hold what no environment can."""
    return os.fsdecode(os.fsencode(value.replace("\0", "").encode("utf-8", "surrogateescape")))


def _said_of(outcome: Outcome, request: ScriptRequest, stdout: Captured, stderr: Captured) -> str:
    limits = request.limits
    return {
        Outcome.TIMEOUT: f"Script timed out after {limits.timeout:g}s",
        Outcome.OUTPUT_LIMIT: f"Script was killed after printing {stdout.total + stderr.total} bytes",
        Outcome.MEMORY_LIMIT: f"Script was killed for using more than {limits.memory} bytes of memory",
        Outcome.DISK_LIMIT: (
            f"Script was killed for writing more than {limits.work_size} bytes or {limits.work_files} files"
        ),
        Outcome.CANCELLED: "Script was cancelled",
    }.get(outcome, "")
