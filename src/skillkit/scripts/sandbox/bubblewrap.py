"""Bubblewrap with a seccomp filter: its own namespaces, a private /tmp, nothing else in sight."""

import contextlib
import hashlib
import json
import os
import resource
import select
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from skillkit.core.programs import find_program
from skillkit.scripts.sandbox import seccomp
from skillkit.scripts.sandbox.backend import (
    DEVICES,
    NETWORK_FILES,
    SYSTEM_FILES,
    SYSTEM_FOLDERS,
    Confinement,
    ProcessTree,
    SandboxError,
    Usage,
    another_user,
    pipe_pair,
    register_pipe,
    resource_limits,
    tree_memory,
)

WORK_FOLDER = "/tmp"
OUTPUT_FOLDER = Path("/output")
_DEVICE_LINKS = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
}
_SHARED_MEMORY = 16 << 20
_SETUP_SECONDS = 20
_LOOK_EVERY = 0.0002
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_APART = ("--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL")
_AS_USER = ("--unshare-user", *_APART)
# Root's bwrap makes no user namespace: it reads what only root can reach, then setpriv leaves root.
_LEAVING = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")
_AS_ROOT = (*_APART, *(word for capability in _LEAVING for word in ("--cap-add", capability)))
_LEAVE_ROOT = [
    "--clear-groups",
    "--bounding-set=-all",
    "--inh-caps=-all",
    "--ambient-caps=-all",
    "--no-new-privs",
]


class Bubblewrap:
    """Namespaces by `bwrap`, system calls by seccomp."""

    name = "bwrap"
    confines = True
    mounts = True
    names_hosts = True

    def missing(self) -> str | None:
        if os.name != "posix" or not hasattr(os, "pidfd_open"):
            return "it needs Linux 5.3 or newer"
        if _program("bwrap") is None:
            return "the program bwrap is not installed (package bubblewrap)"
        if os.geteuid() == 0 and _program("setpriv") is None:
            return "root needs the program setpriv to leave root (package util-linux)"
        if not seccomp.supported():
            return "no seccomp filter is available for this architecture"
        return None

    def identity(self) -> str:
        program = _program("bwrap") or ""
        try:
            found = os.stat(program)
        except OSError:
            return ""
        rules = hashlib.sha256(seccomp.build_filter(network=False)).hexdigest()[:16]
        return f"{program} {found.st_size} {found.st_mtime_ns} {rules}"

    def work_folder(self) -> str:
        return WORK_FOLDER

    def start(self, confinement: Confinement, work: str) -> ProcessTree:
        program = _program("bwrap")
        if program is None:
            raise SandboxError("The program bwrap is no longer installed")
        user = another_user()
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
            status, status_end = register_pipe(ours, theirs, os.pipe())
            gate_end, gate = os.pipe()
            register_pipe(ours, theirs, (gate, gate_end))
            stdout, stdout_end = register_pipe(ours, theirs, pipe_pair(user))
            stderr, stderr_end = register_pipe(ours, theirs, pipe_pair(user))
            gateway = confinement.gateway
            online = confinement.network or gateway is not None
            rules = _memory_file(seccomp.build_filter(network=online), theirs)
            files = (
                {path: _memory_file(data, theirs) for path, data in gateway.files.items()} if gateway else {}
            )
            command = [
                program,
                *(_AS_USER if user is None else _AS_ROOT),
                *([] if confinement.network else ["--unshare-net"]),
                *("--die-with-parent", "--new-session"),
                *("--json-status-fd", str(status_end), "--block-fd", str(gate_end)),
                *("--seccomp", str(rules)),
                *_mounts(confinement, files),
                *("--chdir", os.fspath(confinement.folder), "--"),
                *_leave_root(user),
                *confinement.command,
            ]
            try:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=stdout_end,
                    stderr=stderr_end,
                    # Not --clearenv: the caller's environment would stay readable in /proc/1/environ.
                    env=dict(confinement.environment),
                    cwd="/",
                    pass_fds=(status_end, gate_end, rules, *files.values(), *confinement.descriptors),
                )
            except OSError as error:
                raise SandboxError(f"Cannot start bwrap: {error.strerror}") from error
            ours.pop_all()
        running = BubblewrapProcess(process, stdout, stderr, status)
        try:
            running.open_gate(gate, confinement)
        except BaseException:
            running.kill()
            with contextlib.suppress(SandboxError):
                running.finish()
            os.close(stdout)
            os.close(stderr)
            if running.output is not None:
                os.close(running.output)
            raise
        return running


@dataclass(slots=True)
class BubblewrapProcess:
    """A pid namespace: when its first process is gone, so is everything in it."""

    process: subprocess.Popen[bytes]
    stdout: int
    stderr: int
    status: int
    ended: int | None = None
    first: int | None = None
    """The process that is number 1 inside."""
    killed: bool = False
    output: int | None = None
    """The output folder; its files last as long as this descriptor."""

    def open_gate(self, gate: int, confinement: Confinement) -> None:
        """Let the command start once its first process is known and limited.

        bwrap waits at the gate after it has made the namespaces, so the process that its status
        names cannot have ended, nor its number have been given to another one.
        """
        try:
            answer = self._answer()
            if answer is None:
                return
            self.first = int(answer["child-pid"])
            self.ended = os.pidfd_open(self.first)
            limits = resource_limits(confinement.limits)
            limits[resource.RLIMIT_NPROC] = confinement.limits.processes
            if confinement.gateway is not None:
                confinement.gateway.attach(self.first)
            for which, value in limits.items():
                hard = resource.prlimit(self.first, which)[1]
                lowest = value if hard == resource.RLIM_INFINITY else min(value, hard)
                resource.prlimit(self.first, which, (lowest, lowest))
            if confinement.output is not None:
                self.output = self._opened(confinement.output)
            os.write(gate, b"x")
        except (OSError, ValueError, KeyError):
            self._end()
        finally:
            os.close(gate)

    def _answer(self) -> dict[str, int] | None:
        """The first line of bwrap's status, which it writes piece by piece."""
        line = b""
        while not line.endswith(b"\n"):
            readable, _, _ = select.select([self.status], [], [], _SETUP_SECONDS)
            piece = os.read(self.status, 4096) if readable else b""
            if not piece:
                self._end()
                self.ended = os.pidfd_open(self.process.pid)
                return None
            line += piece
        answer: dict[str, int] = json.loads(line)
        return answer

    def _opened(self, folder: Path) -> int:
        """A folder of the sandbox, once its root is its own: bwrap makes the mounts before the gate."""
        deadline = time.monotonic() + _SETUP_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            with contextlib.suppress(OSError):
                if not self._has_our_root():
                    return os.open(f"/proc/{self.first}/root{folder}", _OPEN_FOLDER)
            time.sleep(_LOOK_EVERY)
        raise OSError(f"There is no {folder} in the sandbox")

    def _has_our_root(self) -> bool:
        """Whether the first process still sees the folders of this machine."""
        return os.path.samestat(os.stat(f"/proc/{self.first}/root/"), os.stat("/"))

    def poll(self) -> bool:
        return self.process.poll() is not None

    def kill(self) -> None:
        self.killed = True
        self._end()

    def _end(self) -> None:
        # The first process rather than bwrap itself: bwrap then waits until the namespace is empty.
        with contextlib.suppress(ProcessLookupError):
            if self.ended is not None and self.first is not None:
                signal.pidfd_send_signal(self.ended, signal.SIGKILL)
            else:
                self.process.kill()

    def usage(self) -> Usage:
        if self.first is None:
            return Usage()
        files = 0
        # The kernel holds their size; their number of files would fill its own memory. Before bwrap
        # has changed the root these are the folders of this machine, full of files of others.
        with contextlib.suppress(OSError):
            if not self._has_our_root():
                for folder in (WORK_FOLDER, "/dev/shm"):
                    found = os.statvfs(f"/proc/{self.first}/root{folder}")
                    files += found.f_files - found.f_ffree
        if self.output is not None:
            found = os.fstatvfs(self.output)
            files += found.f_files - found.f_ffree
        return Usage(memory=tree_memory(self.first), files=files)

    def finish(self) -> int:
        self._end()
        code = self.process.wait()
        answers = b""
        while chunk := os.read(self.status, 4096):
            answers += chunk
        os.close(self.status)
        if self.ended is not None:
            # Outlived by bwrap it is an orphan: ours to wait for if we are a container's first process.
            with contextlib.suppress(ChildProcessError):
                os.waitid(os.P_PIDFD, self.ended, os.WEXITED)
            os.close(self.ended)
        for line in answers.splitlines():
            answer = json.loads(line)
            if "exit-code" in answer:
                return int(answer["exit-code"])
        if self.killed and self.first is not None:
            return 128 + signal.SIGKILL
        raise SandboxError(f"bwrap failed with exit code {code} before the script started")


def _memory_file(data: bytes, held: contextlib.ExitStack) -> int:
    descriptor = os.memfd_create("skillkit")
    held.callback(os.close, descriptor)
    if os.write(descriptor, data) < len(data):
        raise SandboxError(
            f"Files may not have {len(data)} bytes here (ulimit -f), and a sandbox needs that to be set up"
        )
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _mounts(confinement: Confinement, files: Mapping[str, int]) -> list[str]:
    """The file system as the script will see it, in the order in which it is put together."""
    work = str(confinement.limits.work_size)
    arguments = [*_system_mounts(confinement.network or bool(files), frozenset(files))]
    for path, descriptor in files.items():
        arguments += ["--perms", "0444", "--ro-bind-data", str(descriptor), path]
    arguments += ["--perms", "1777", "--size", str(_SHARED_MEMORY), "--tmpfs", "/dev/shm"]
    arguments += ["--perms", "1777", "--size", work, "--tmpfs", WORK_FOLDER]
    if confinement.output is not None:
        size = str(confinement.limits.made_size)
        arguments += ["--perms", "1777", "--size", size, "--tmpfs", os.fspath(confinement.output)]
    parents: set[str] = set()
    mounts = [("--ro-bind", mount) for mount in confinement.read_only]
    mounts += [("--bind", mount) for mount in confinement.writable]
    # Folders before what is in them: a granted project folder does not cover the skill's pinned copy.
    for option, mount in sorted(mounts, key=lambda item: item[1].target):
        arguments += _parents(mount.target, parents)
        if mount.copied:
            arguments += ["--perms", "0444", "--ro-bind-data", str(mount.descriptor), os.fspath(mount.target)]
        elif mount.descriptor is None:
            arguments += [option, os.fspath(mount.source), os.fspath(mount.target)]
        else:
            arguments += [f"{option}-fd", str(mount.descriptor), os.fspath(mount.target)]
    for hidden in confinement.hidden:
        if hidden.is_dir():
            arguments += ["--perms", "0000", "--tmpfs", os.fspath(hidden), "--remount-ro", os.fspath(hidden)]
        else:  # a device where devices cannot be opened
            arguments += ["--ro-bind", os.devnull, os.fspath(hidden)]
    return [*arguments, "--remount-ro", "/"]


@lru_cache(maxsize=4)
def _system_mounts(network: bool, replaced: frozenset[str]) -> tuple[str, ...]:
    arguments: list[str] = []
    for path in SYSTEM_FOLDERS:
        if os.path.islink(path):
            arguments += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            arguments += ["--ro-bind", path, path]
    arguments += ["--perms", "0755", "--dir", "/etc"]
    parents = {"/etc"}
    for path in SYSTEM_FILES + (NETWORK_FILES if network else ()):
        if os.path.exists(path) and path not in replaced:
            arguments += _parents(Path(path), parents)
            arguments += ["--ro-bind-try", os.path.realpath(path), path]
    # Not --dev: its terminals cost as much as everything else together, and no script has one.
    arguments += ["--proc", "/proc", "--perms", "0755", "--dir", "/dev"]
    for device in DEVICES:
        arguments += ["--dev-bind", device, device]
    for name, target in _DEVICE_LINKS.items():
        arguments += ["--symlink", target, f"/dev/{name}"]
    return tuple(arguments)


def _parents(path: Path, made: set[str]) -> list[str]:
    """Folders on the way to a mount; bwrap would make them so that only their owner may pass."""
    arguments: list[str] = []
    for parent in reversed(path.parents):
        text = os.fspath(parent)
        exists = text in ("/", WORK_FOLDER) or text in made or _is_system(text)
        if not exists:
            made.add(text)
            arguments += ["--perms", "0755", "--dir", text]
    return arguments


def _is_system(path: str) -> bool:
    return path.startswith(tuple(f"{folder}/" for folder in SYSTEM_FOLDERS)) or (path in SYSTEM_FOLDERS)


def _leave_root(user: int | None) -> list[str]:
    if user is None:
        return []
    program = _program("setpriv") or "setpriv"
    return [program, "--reuid", str(user), "--regid", str(user), *_LEAVE_ROOT, "--"]


@lru_cache(maxsize=4)
def _program(name: str) -> str | None:
    return find_program(name)
