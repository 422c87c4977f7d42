"""A tree that a supervisor process starts, confines as ordered, and ends."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from skillkit.core.lazy_names import renamed
from skillkit.scripts.sandbox import supervisor
from skillkit.scripts.sandbox.backend import (
    Confinement,
    ProcessGroup,
    ProcessTree,
    SandboxError,
    Usage,
    folder_size,
    hand_over,
    pipe_pair,
    register_pipe,
    resource_limits,
    tree_memory,
    written_folders,
)

_PATIENCE = 60.0
"""Seconds for the supervisor to remove what the script has written; everything is dead by then."""


def new_work_folder() -> str:
    """An empty folder that only its owner may enter."""
    return os.path.realpath(tempfile.mkdtemp(prefix="skillkit-run-"))


class HostFolders:
    """Base of backends that show a script the machine's own folders."""

    confines = True
    mounts = False
    names_hosts = False

    def work_folder(self) -> str:
        return new_work_folder()


@dataclass(slots=True)
class SupervisedProcess:
    """The supervisor ends only after everything beneath it has ended."""

    process: subprocess.Popen[bytes]
    stdout: int
    stderr: int
    control: int
    status: int
    folders: tuple[str, ...]
    """Return writable paths: the work folder, then the output folder if there is one."""
    ended: int | None

    @classmethod
    def start(
        cls,
        confinement: Confinement,
        work: str,
        *,
        user: int | None,
        limit_processes: bool = True,
        landlock: Mapping[str, object] | None = None,
    ) -> "SupervisedProcess":
        """Start the command as `user`, held by the rules of `landlock`; without them nothing confines it."""
        try:
            with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
                control_end, control = os.pipe()
                register_pipe(ours, theirs, (control, control_end))
                status, status_end = register_pipe(ours, theirs, os.pipe())
                stdout, stdout_end = register_pipe(ours, theirs, pipe_pair(user))
                stderr, stderr_end = register_pipe(ours, theirs, pipe_pair(user))
                file = theirs.enter_context(tempfile.TemporaryFile())
                order = {
                    "command": list(confinement.command),
                    "environment": dict(confinement.environment),
                    "folder": os.fspath(confinement.folder),
                    "work": work,
                    "output": os.fspath(confinement.output) if confinement.output is not None else "",
                    "network": confinement.network,
                    "limits": _limits(confinement, user, limit_processes=limit_processes),
                    "user": user,
                    "landlock": landlock,
                    "inherited": [control_end, status_end, *confinement.descriptors],
                    "control": control_end,
                    "status": status_end,
                }
                file.write(json.dumps(order).encode())
                file.seek(0)
                process = subprocess.Popen(
                    [sys.executable, "-I", "-S", supervisor.__file__, str(file.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=stdout_end,
                    stderr=stderr_end,
                    env={},
                    cwd="/",
                    pass_fds=(file.fileno(), control_end, status_end, *confinement.descriptors),
                    start_new_session=True,
                )
                ended = os.pidfd_open(process.pid)  # a supervisor whose control is closed again ends itself
                ours.pop_all()
        except OSError as error:
            supervisor.remove_tree(work)
            raise SandboxError(f"Cannot start the supervisor: {error.strerror}") from error
        folders = written_folders(work, confinement)
        return cls(process, stdout, stderr, control, status, folders, ended)

    def poll(self) -> bool:
        return self.process.poll() is not None

    def kill(self) -> None:
        if self.control >= 0:
            os.close(self.control)
            self.control = -1

    def usage(self) -> Usage:
        disk, files = folder_size(*self.folders)
        return Usage(memory=tree_memory(self.process.pid), disk=disk, files=files)

    def finish(self) -> int:
        self.kill()
        try:
            self.process.wait(timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        said = b""
        while chunk := os.read(self.status, 4096):
            said += chunk
        os.close(self.status)
        if self.ended is not None:
            os.close(self.ended)
        supervisor.remove_tree(self.folders[0])
        lines = dict(line.split(" ", 1) for line in said.decode("utf-8", "replace").splitlines())
        if "failed" in lines or "exit" not in lines:
            reason = lines.get("failed", "the supervisor ended early")
            raise SandboxError(f"The sandbox could not be set up: {reason}")
        return int(lines["exit"])


def _limits(confinement: Confinement, user: int | None, *, limit_processes: bool) -> dict[str, int]:
    """Return the kernel's limits by the names of their constants."""
    import resource

    names = {getattr(resource, name): name for name in dir(resource) if name.startswith("RLIMIT_")}
    limits = {names[key]: value for key, value in resource_limits(confinement.limits).items()}
    if limit_processes:
        others = 0 if user is not None else _tasks_of_this_user()
        limits["RLIMIT_NPROC"] = confinement.limits.processes + others
    return limits


def _tasks_of_this_user() -> int:
    """Threads of this user now: without a user namespace the kernel counts them with the script's."""
    mine = os.getuid()
    total = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if entry.stat().st_uid == mine:
                    total += len(os.listdir(entry / "task"))
    return total


class NoSandbox(HostFolders):
    """No sandbox: a clean environment, limits and a supervised end. Only for what the user allowed."""

    name = "none"
    confines = False

    def missing(self) -> str | None:
        return None

    def identity(self) -> str:
        return ""

    def start(self, confinement: Confinement, work: str) -> ProcessTree:
        if sys.platform != "linux":
            return ProcessGroup.start(list(confinement.command), confinement, work)
        user = hand_over(work, confinement)
        return SupervisedProcess.start(confinement, work, user=user, limit_processes=user is not None)


__getattr__ = renamed(__name__, {"SupervisedRunning": "SupervisedProcess"})
