"""Runs requests on this machine: environment, sandbox, capture, and a shared limit of concurrency."""

import errno
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from skillkit.core.disk import agent_home, remove_tree, unreachable, writable_folder
from skillkit.core.exceptions import ConfigurationError, SkillsUseError
from skillkit.core.folder_cache import ChangedFolderError
from skillkit.core.grants import Limits
from skillkit.core.path_resolver import open_beneath
from skillkit.core.pinned_trees import TreeStore
from skillkit.scripts.capture import Cancellation, run_to_end
from skillkit.scripts.environments import EnvironmentStore, say_on_stderr
from skillkit.scripts.exceptions import CancelledError, DependencyError, RefusedRunError
from skillkit.scripts.imports import imports_in, own_folders
from skillkit.scripts.inline_metadata import MAX_SCRIPT_SIZE, InlineMetadataError, parse_inline_metadata
from skillkit.scripts.inputs import InputsError
from skillkit.scripts.interpreters import FIRST_BYTES, PYTHON, asked_for, find_interpreter, find_shell
from skillkit.scripts.made_files import collect_files, open_output, output_folder
from skillkit.scripts.models import Outcome, ScriptRequest, ScriptResult, ThreadedRunner
from skillkit.scripts.needed_packages import misses_packages
from skillkit.scripts.network.attempts import Attempt
from skillkit.scripts.network.gateway import Gateway
from skillkit.scripts.node_environments import NodeStore
from skillkit.scripts.pinned_run import PinnedRun, ScriptHead
from skillkit.scripts.sandbox.backend import Backend, ProcessTree, needs_reachable_files
from skillkit.scripts.selection import NoSandboxError, SandboxSelection

_WIDE_STORE = Path("/var/cache/skillkit/environments")
"""Folder of root's environments if its own one is closed to the user that scripts run as."""
_KEPT_HEADS = 1024


def environment_folders() -> tuple[Path, ...]:
    """Folders of environments of the default runner."""
    return (agent_home() / "environments", _WIDE_STORE)


class LocalRunner(ThreadedRunner):
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
        follow: Callable[[ScriptRequest, str], object] | None = None,
    ) -> None:
        self.follow = follow
        """Called with each line that a script prints, on either stream, while it runs."""
        state = writable_folder(home or agent_home())
        self.environments = EnvironmentStore(state / "environments", progress)
        self.node = NodeStore(state / "environments", progress)
        self._wide = None if home is not None else EnvironmentStore(_WIDE_STORE, progress)
        self.sandbox = SandboxSelection(state / "cache", sandbox)
        self._concurrency = concurrency or max(4, 2 * (os.cpu_count() or 1))
        self._pool = self._new_pool()
        self._process = os.getpid()
        self.trees = TreeStore(state / "trees")
        self._heads: dict[tuple[str, str, bool], ScriptHead] = {}

    def prepare(self, request: ScriptRequest) -> str | None:
        """Prepare a request without starting it; return why that fails, None on success."""
        cancellation = Cancellation()
        try:
            result = self._execute(request, cancellation, start=False)
        finally:
            cancellation.close()
        return None if result.outcome is Outcome.EXITED else result.message

    def can_show_folders(self) -> bool:
        """Whether scripts can be shown a folder of the user's without the keys in it."""
        try:
            return self.sandbox.choose(unsandboxed=False).mounts
        except (NoSandboxError, ConfigurationError):
            return False

    def close(self) -> None:
        """Wait for what is running and let the threads go."""
        self._pool.shutdown()

    def _new_pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._concurrency, thread_name_prefix="skillkit-script")

    def _submit(self, request: ScriptRequest) -> tuple[Callable[[], None], "Future[ScriptResult]"]:
        cancellation = Cancellation()

        def work() -> ScriptResult:
            try:
                return self._execute(request, cancellation)
            finally:
                cancellation.close()

        if self._process != os.getpid():  # threads do not survive a fork
            self._pool, self._process = self._new_pool(), os.getpid()
        return cancellation.set, self._pool.submit(work)

    def _execute(
        self, request: ScriptRequest, cancellation: Cancellation, *, start: bool = True
    ) -> ScriptResult:
        if cancellation.is_set():
            return ScriptResult(Outcome.CANCELLED, "none", message="Script was cancelled")
        try:
            backend = self.sandbox.choose(unsandboxed=request.unsandboxed)
        except (NoSandboxError, ConfigurationError) as error:
            return ScriptResult(Outcome.REFUSED, "none", message=str(error))
        try:
            reachable = needs_reachable_files(backend)
            with (
                self.trees.pinned(request.base_dir, request.digest, reachable=reachable) as tree,
                self._prepared(PinnedRun(request, tree, backend, cancellation)) as run,
            ):
                return self._start(run) if start else ScriptResult(Outcome.EXITED, backend.name, 0)
        except (ChangedFolderError, RefusedRunError, InputsError) as error:
            return ScriptResult(Outcome.REFUSED, backend.name, message=str(error))
        except DependencyError as error:
            return ScriptResult(Outcome.DEPENDENCY, backend.name, message=str(error))
        except InlineMetadataError as error:
            return ScriptResult(Outcome.DEPENDENCY, backend.name, message=f"{request.script}: {error}")
        except CancelledError as error:
            return ScriptResult(Outcome.CANCELLED, backend.name, message=str(error))
        except SkillsUseError as error:
            return ScriptResult(Outcome.BROKEN, backend.name, message=str(error))
        except OSError as error:
            return ScriptResult(Outcome.BROKEN, backend.name, message=_unprepared(error))

    @contextmanager
    def _prepared(self, run: PinnedRun) -> Iterator[PinnedRun]:
        """Find the interpreter of a run, and hold its packages as long as it lasts."""
        request = run.request
        if request.command:
            run.interpreter = find_shell(request.shell)
            yield run
            return
        run.head = head = self._read_head(run)
        run.interpreter = find_interpreter(request.script, head.first_bytes)
        if run.interpreter.kind != PYTHON:
            packages = request.node_packages
            with self.node.in_use(packages, request.script, run.cancellation) as run.node_modules:
                yield run
            return
        with self._store_for(run.backend).in_use(
            run.tree / request.script,
            replace(head.metadata, requires_python=head.metadata.requires_python or request.requires_python),
            source_builds=request.source_builds,
            other_sources=request.other_sources,
            lock=request.packages if head.takes_packages else "",
            reachable=needs_reachable_files(run.backend),
            cancellation=run.cancellation,
        ) as run.environment:
            yield run

    def _store_for(self, backend: Backend) -> EnvironmentStore:
        """Root's own folder only for backends that can show it to the user that scripts run as."""
        if self._wide is None or not needs_reachable_files(backend):
            return self.environments
        home = self.environments.folder
        existing = next(path for path in (home, *home.parents) if path.exists())
        return self.environments if unreachable(existing) is None else self._wide

    def _start(self, run: PinnedRun) -> ScriptResult:
        request, backend = run.request, run.backend
        gateway = run.gateway()
        follow = None if self.follow is None else partial(self.follow, request)
        attempts: tuple[Attempt, ...] = ()
        started = time.perf_counter()
        with output_folder(backend) as output, ExitStack() as held:
            try:
                running = self._started(run, output, gateway)
                if (made := open_output(running, output, backend)) is not None:
                    held.callback(os.close, made)
                ended = run_to_end(running, request.limits, run.cancellation, follow)
            finally:
                if gateway is not None:
                    attempts = gateway.close()
            duration = (time.perf_counter() - started) * 1000
            files, left_out = ((), ()) if made is None else collect_files(made, request.limits)
        if ended.message and ended.outcome is Outcome.EXITED:
            self.sandbox.forget()
            said = ended.stderr.ending(500).decode("utf-8", "replace").strip()
            message = f"{ended.message}: {said}" if said else ended.message
            return ScriptResult(Outcome.BROKEN, backend.name, message=message, duration_ms=duration)
        return replace(
            ended,
            backend=backend.name,
            exit_code=ended.exit_code if ended.outcome is Outcome.EXITED else None,
            duration_ms=duration,
            message=_message_of(ended, request.limits),
            network=attempts,
            files=files,
            files_left_out=left_out,
        )

    def _started(self, run: PinnedRun, output: Path, gateway: Gateway | None) -> ProcessTree:
        with ExitStack() as held:
            work = run.backend.work_folder()
            try:
                return run.backend.start(run.confinement(work, output, gateway, held), work)
            except BaseException:
                if not run.backend.mounts:
                    remove_tree(Path(work))
                raise

    def _read_head(self, run: PinnedRun) -> ScriptHead:
        """Return facts about how the script is run, read once for each digest."""
        has_packages = bool(run.request.packages)
        key = (run.request.digest, run.request.script, has_packages)
        if (known := self._heads.get(key)) is not None:
            return known
        with open_beneath(run.tree, run.request.script) as descriptor:
            if os.fstat(descriptor).st_size > MAX_SCRIPT_SIZE:
                raise InlineMetadataError(f"larger than {MAX_SCRIPT_SIZE} bytes")
            with os.fdopen(os.dup(descriptor), "rb") as file:
                content = file.read(MAX_SCRIPT_SIZE)
        is_python = b"# /// script" in content
        metadata = parse_inline_metadata(content.decode("utf-8", "replace") if is_python else "")
        if len(self._heads) >= _KEPT_HEADS:
            self._heads.clear()
        first_bytes = content[:FIRST_BYTES]
        kind, _ = asked_for(run.request.script, first_bytes)
        imports = imports_in(content) if kind == PYTHON else ()
        own = own_folders(run.tree, run.request.script, imports)
        is_module = any(name.startswith(".") for name, _ in imports) and run.request.script.endswith(".py")
        takes = not metadata.dependencies or (has_packages and misses_packages(run.tree, run.request.script))
        self._heads[key] = head = ScriptHead(metadata, first_bytes, own, is_module, takes)
        return head


def _message_of(ended: ScriptResult, limits: Limits) -> str:
    printed = ended.stdout.total + ended.stderr.total
    return {
        Outcome.TIMEOUT: f"Script timed out after {limits.timeout:g}s",
        Outcome.OUTPUT_LIMIT: f"Script was killed after printing {printed} bytes",
        Outcome.MEMORY_LIMIT: f"Script was killed for using more than {limits.memory} bytes of memory",
        Outcome.DISK_LIMIT: (
            f"Script was killed for writing more than {limits.work_size} bytes or {limits.work_files} files"
        ),
        Outcome.CANCELLED: "Script was cancelled",
    }.get(ended.outcome, "")


def _unprepared(error: OSError) -> str:
    what = f" ({error.filename})" if error.filename else ""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    remedy = ". Free some space, or set AGENT_HOME to a folder on another disk" if full else ""
    return f"The run could not be prepared: {error.strerror or error}{what}{remedy}"
