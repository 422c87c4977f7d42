"""Interface of sandbox backends, and what they share."""

import contextlib
import errno
import os
import secrets
import signal
import stat
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from skillkit.core.disk import remove_tree, unreachable
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.grants import Limits
from skillkit.core.lazy_names import renamed
from skillkit.scripts.exceptions import DependencyError
from skillkit.scripts.sandbox.supervisor import descendants

SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
# Every file here costs a mount per run, so only files that programs fail without.
SYSTEM_FILES = ("/etc/alternatives", "/etc/ld.so.cache", "/etc/localtime")
NETWORK_FILES = (
    "/etc/ca-certificates",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/pki/ca-trust/extracted",
    "/etc/pki/tls/certs",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
)
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
SEARCH_PATH = "/usr/local/bin:/usr/bin:/bin"
_FIRST_FREE_USER = 2_000_000_000
_MANY = 1_000_000
_DEEP = 200


class SandboxError(SkillsUseError, code="sandbox"):
    """The sandbox could not be set up; the script has not run."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A path of this machine that the script sees, and where; a backend without mounts shows it in place."""

    source: Path
    target: Path
    descriptor: int | None = None
    """`source` opened before it was judged, so that nothing can be put in its place."""
    copied: bool = False
    """Shown as a copy of its bytes: the mode would keep the script's user from reading it."""


class NetworkGateway(Protocol):
    """Serves a sandbox that may reach some hosts by name."""

    files: Mapping[str, bytes]
    """Files that replace this machine's network settings for the script."""

    def attach(self, process: int) -> None:
        """Serve the network namespace of `process`, which has not started the script yet."""
        ...


@dataclass(frozen=True, slots=True)
class Confinement:
    """A command and everything it may access; anything else does not exist for it."""

    command: tuple[str, ...]
    folder: Path
    """Where it starts."""
    environment: Mapping[str, str]
    limits: Limits
    read_only: tuple[Mount, ...] = ()
    writable: tuple[Mount, ...] = ()
    hidden: tuple[Path, ...] = ()
    """Paths hidden in the folders of `read_only`; only backends with mounts can hide anything."""
    output: Path | None = None
    """The output folder as the script sees it; a backend with mounts makes it, for others it exists."""
    network: bool = False
    gateway: NetworkGateway | None = None
    """The only way out when `network` is not granted as a whole."""

    @property
    def descriptors(self) -> tuple[int, ...]:
        """Descriptors for the process that makes the mounts."""
        mounts = (*self.read_only, *self.writable)
        return tuple(mount.descriptor for mount in mounts if mount.descriptor is not None)


@dataclass(frozen=True, slots=True)
class Usage:
    """Current usage of a running tree; None where the kernel itself enforces the limit."""

    memory: int | None = None
    disk: int | None = None
    files: int | None = None


class ProcessTree(Protocol):
    """A tree of processes that has been started and can be ended."""

    stdout: int
    stderr: int
    ended: int | None
    """A descriptor that becomes readable when nothing of the tree is left; None: ask `poll`."""

    def poll(self) -> bool:
        """Whether everything has ended."""
        ...

    def kill(self) -> None:
        """Kill the whole tree now; may be called at any time and more than once."""
        ...

    def usage(self) -> Usage: ...

    def finish(self) -> int:
        """Reap what is left and give the exit code; SandboxError if the command never started."""
        ...


class Backend(Protocol):
    """A sandbox backend."""

    name: str
    confines: bool
    """Whether grants are enforced; a backend that does not confine runs only what the user allowed."""
    mounts: bool
    """Whether it can show the script files that only our own user can read."""
    names_hosts: bool
    """Whether it can keep a script to the hosts of a gateway."""

    def missing(self) -> str | None:
        """Return why this backend cannot work here, as far as is known without trying it."""
        ...

    def identity(self) -> str:
        """Return what a self-test's verdict depends on besides the kernel, such as a program's version."""
        ...

    def work_folder(self) -> str:
        """Where the script's private folder will be, as the script sees it; created at the start."""
        ...

    def start(self, confinement: Confinement, work: str) -> ProcessTree: ...


def another_user() -> int | None:
    """Return an unused user id, new for every run, so that no script runs as root."""
    if os.geteuid() != 0:
        return None
    return _FIRST_FREE_USER + secrets.randbelow(100_000_000)


def needs_reachable_files(backend: Backend) -> bool:
    """Whether the script's user must be able to read everything by itself."""
    return not backend.mounts and os.geteuid() == 0


def hand_over(work: str, confinement: Confinement) -> int | None:
    """Give the work folder to the user the script will be, who must be able to read its files."""
    user = another_user()
    if user is None:
        return None
    sources = (mount.source for mount in confinement.read_only)
    for path in (*sources, Path(confinement.command[0])):
        if (blocked := unreachable(path)) is not None:
            os.rmdir(work)
            raise DependencyError(
                f"{path} cannot be read by another user than root because of {blocked}; "
                "install bubblewrap, keep it where others may read, or do not run as root"
            )
    for folder in (work, confinement.output):
        if folder is not None:
            os.chown(folder, user, user)
    return user


def resource_limits(limits: Limits) -> dict[int, int]:
    """The kernel's own limits that every process of the tree inherits."""
    import resource

    return {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_DATA: limits.memory,
        resource.RLIMIT_FSIZE: limits.file_size,
        resource.RLIMIT_NOFILE: 1024,
    }


def pipe_pair(user: int | None = None) -> tuple[int, int]:
    """A pipe whose reading end never blocks and that holds a megabyte if the system lets it.

    `user` is who will write: somebody else could not open /dev/stdout again.
    """
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    if user is not None:
        os.fchown(writing, user, user)
    if sys.platform == "linux":
        import fcntl

        with contextlib.suppress(OSError):
            fcntl.fcntl(reading, fcntl.F_SETPIPE_SZ, 1 << 20)
    return reading, writing


def register_pipe(
    ours: contextlib.ExitStack, theirs: contextlib.ExitStack, ends: tuple[int, int]
) -> tuple[int, int]:
    """Have both ends of a pipe closed: the second in any case, the first only if the start fails."""
    ours.callback(os.close, ends[0])
    theirs.callback(os.close, ends[1])
    return ends


def written_folders(work: str, confinement: Confinement) -> tuple[str, ...]:
    """Writable paths outside the granted ones."""
    return (work,) if confinement.output is None else (work, os.fspath(confinement.output))


def folder_size(*paths: str) -> tuple[int, int]:
    """Bytes allocated beneath `paths` and how many entries there are, as far as it is worth counting."""
    size = entries = 0
    seen: set[int] = set()
    waiting = [(path, 0) for path in paths]
    while waiting and entries <= _MANY:
        folder, depth = waiting.pop()
        if depth > _DEEP:
            return size, _MANY + 1  # no honest work folder is this deep
        try:
            with os.scandir(folder) as listing:
                for entry in listing:
                    entries += 1
                    found = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(found.st_mode):
                        waiting.append((entry.path, depth + 1))
                    elif found.st_ino not in seen:
                        seen.add(found.st_ino)
                        size += found.st_blocks * 512
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                return size, _MANY + 1
    return size, entries


def tree_memory(root: int) -> int:
    """Anonymous and shared resident bytes of a process and all its descendants.

    File-backed pages belong to the page cache, which the kernel can take back, and do not count.
    """
    total = 0
    for process in (root, *descendants(root)):
        with contextlib.suppress(OSError, ValueError), open(f"/proc/{process}/status", "rb") as file:
            counted = [line for line in file if line.startswith((b"RssAnon:", b"RssShmem:"))]
            total += sum(int(line.split()[1]) << 10 for line in counted)
    return total


@dataclass(slots=True)
class ProcessGroup:
    """A process group, for systems where nothing stronger is at hand."""

    process: subprocess.Popen[bytes]
    stdout: int
    stderr: int
    folders: tuple[str, ...]
    """Return writable paths: the work folder, then the output folder if there is one."""
    ended: int | None = None

    @classmethod
    def start(cls, command: list[str], confinement: Confinement, work: str) -> "ProcessGroup":
        """Start `command` for a script, as another user if this is root."""
        user = hand_over(work, confinement)
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
            ours.callback(_discard, work)
            stdout, stdout_end = register_pipe(ours, theirs, pipe_pair(user))
            stderr, stderr_end = register_pipe(ours, theirs, pipe_pair(user))
            try:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=stdout_end,
                    stderr=stderr_end,
                    cwd=confinement.folder,
                    env=dict(confinement.environment),
                    start_new_session=True,
                    user=user,
                    group=user,
                    extra_groups=None if user is None else [],
                )
            except OSError as error:
                raise SandboxError(f"Cannot start {command[0]}: {error.strerror}") from error
            ours.pop_all()
        return cls(process, stdout, stderr, written_folders(work, confinement))

    def poll(self) -> bool:
        return self.process.poll() is not None

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def usage(self) -> Usage:
        disk, files = folder_size(*self.folders)
        return Usage(disk=disk, files=files)

    def finish(self) -> int:
        self.kill()
        code = self.process.wait()
        _discard(self.folders[0])
        return code if code >= 0 else 128 - code


def _discard(folder: str) -> None:
    with contextlib.suppress(OSError):
        remove_tree(Path(folder))


__getattr__ = renamed(__name__, {"GroupRunning": "ProcessGroup", "Running": "ProcessTree"})
