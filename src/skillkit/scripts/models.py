"""The nouns of running a script: request, grants, result."""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from threading import Thread
from typing import Protocol

from skillkit.core.grants import Limits
from skillkit.scripts.inputs import InputFile
from skillkit.scripts.network.attempts import Attempt
from skillkit.scripts.network.secrets import Secret


@dataclass(frozen=True, slots=True)
class ScriptRequest:
    """One run, as plain data: any engine that has the tree of `digest` can execute it."""

    skill: str
    base_dir: Path
    digest: str
    """Of the skill's whole folder; every allowance below was decided for exactly this tree."""
    script: str
    """Relative to `base_dir`, with forward slashes."""
    arguments: tuple[str, ...] = ()
    version: str | None = None
    limits: Limits = field(default_factory=Limits)
    environment: Mapping[str, str] = field(default_factory=dict)
    """Granted variables and their values; the few that every script gets are the runner's."""
    network: bool = False
    hosts: tuple[str, ...] = ()
    """The hosts that may be reached when not the whole network is granted: `name` or `name:port`."""
    private_hosts: tuple[str, ...] = ()
    """The same, also for names inside the runner's own network."""
    secrets: tuple[Secret, ...] = ()
    """Secrets that the runner puts into requests to their hosts; the script gets placeholders."""
    read_paths: tuple[Path, ...] = ()
    write_paths: tuple[Path, ...] = ()
    inputs: tuple[InputFile, ...] = ()
    """Files that the user handed to this run."""
    project: Path | None = None
    """A folder to be read, without what `hidden` names."""
    hidden: tuple[str, ...] = ()
    packages: str = ""
    """Lock, with hashes, of what the user accepted for scripts that declare nothing themselves."""
    node_packages: str = ""
    """The same for Node.js: JSON, by the folder of the skill that has the `package.json`."""
    requires_python: str = ""
    """From the skill's header; a script's own metadata wins."""
    unsandboxed: bool = False
    """May run where no sandbox holds it."""
    source_builds: bool = False
    """May have dependencies built from source, which executes their code at install time."""
    other_sources: bool = False
    """May name its own indexes, direct URLs and path dependencies."""
    command: str = ""
    """A shell command from the instructions, in place of a script."""
    shell: str = "bash"
    """`bash` or `powershell`, for `command`."""
    retry_safe: bool = False
    """The skill declares the run safe to retry if it is lost."""


@dataclass(frozen=True, slots=True)
class OutputFile:
    """A file that a script left in its output folder."""

    name: str
    """Relative to that folder, with forward slashes."""
    media_type: str
    digest: str
    """`sha256:…` of the content."""
    content: bytes = field(repr=False)


class Outcome(str, Enum):
    """How a run ended."""

    EXITED = "exited"
    TIMEOUT = "timeout"
    OUTPUT_LIMIT = "output_limit"
    MEMORY_LIMIT = "memory_limit"
    DISK_LIMIT = "disk_limit"
    CANCELLED = "cancelled"
    REFUSED = "refused"
    """The tree is not the approved one, or no sandbox holds and one is required."""
    DEPENDENCY = "dependency"
    """An interpreter or a package is missing or cannot be had within the rules."""
    BROKEN = "broken"
    """The sandbox itself failed; the script did not start."""
    LOST = "lost"
    """The runner was lost: the script may have run, in part or completely."""


@dataclass(frozen=True, slots=True)
class Captured:
    """Captured output of a stream: all of it, or head and tail."""

    head: bytes = b""
    tail: bytes = b""
    total: int = 0

    @property
    def truncated(self) -> bool:
        return self.total > len(self.head) + len(self.tail)

    @property
    def data(self) -> bytes:
        """Head and tail, with a line between them for the missing bytes."""
        missing = self.total - len(self.head) - len(self.tail)
        if not missing:
            return self.head + self.tail
        return self.head + f"\n… {missing} bytes left out …\n".encode() + self.tail

    def ending(self, size: int) -> bytes:
        return (self.head + self.tail)[-size:] if len(self.tail) < size else self.tail[-size:]


SILENCE = Captured()


@dataclass(frozen=True, slots=True)
class ScriptResult:
    """Result of a request, with the sandbox that ran it."""

    outcome: Outcome
    backend: str
    exit_code: int | None = None
    """As a shell tells it: 128 + n when signal n ended the script."""
    stdout: Captured = SILENCE
    stderr: Captured = SILENCE
    duration_ms: float = 0.0
    memory: int | None = None
    """Peak bytes; None if the script ended before the first measurement."""
    message: str = ""
    """Why the script did not run, or did not end by itself."""
    network: tuple[Attempt, ...] = ()
    """Hosts it tried to reach, if hosts were granted by name."""
    files: tuple[OutputFile, ...] = ()
    """Files it left in its output folder."""
    files_left_out: tuple[str, ...] = ()
    """Other entries there with the reason they are not kept, one line each."""


class ScriptRunner(Protocol):
    """Executes requests: this machine's sandbox, or an engine elsewhere."""

    def run(self, request: ScriptRequest) -> ScriptResult: ...

    async def arun(self, request: ScriptRequest) -> ScriptResult:
        """`run` without blocking the event loop; cancelling the task kills the script."""
        ...


class ThreadedRunner:
    """`run` and `arun` of a ScriptRunner that runs requests in threads of its own."""

    def run(self, request: ScriptRequest) -> ScriptResult:
        """Run one request to its end. Interrupting the caller kills the script."""
        cancel, future = self._submit(request)
        try:
            return future.result()
        except BaseException:
            cancel()
            raise

    async def arun(self, request: ScriptRequest) -> ScriptResult:
        """`run` without blocking; cancelling the awaiting task kills the script before it returns."""
        cancel, future = self._submit(request)
        waiting = asyncio.wrap_future(future)
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            if not future.cancel():
                Thread(target=cancel).start()  # it may block, and the threads of the event loop may be busy
                await asyncio.wait([waiting])
            raise

    def _submit(self, request: ScriptRequest) -> tuple[Callable[[], None], "Future[ScriptResult]"]:
        """Start a run; return what cancels it, and its result."""
        raise NotImplementedError
