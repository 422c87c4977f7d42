"""Landlock and seccomp for machines without user namespaces: the kernel denies access, without mounts."""

import ctypes
import os
import platform
import sys
from pathlib import Path

from skillkit.scripts.sandbox import seccomp, supervisor
from skillkit.scripts.sandbox.backend import (
    DEVICES,
    NETWORK_FILES,
    SYSTEM_FILES,
    SYSTEM_FOLDERS,
    Confinement,
    Mount,
    hand_over,
)
from skillkit.scripts.sandbox.supervised import HostFolders, SupervisedProcess

_NEEDED = 6
"""The first version that keeps signals and abstract sockets inside (Linux 6.12)."""
_STARTING_FILES = (
    "/etc/ssl/openssl.cnf",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/sys/devices/system/cpu",
)
"""Files Node.js and others need to start: here a file is forbidden that elsewhere is absent."""
_ITSELF = "/proc/self"
"""Opened by the script's own process just before it becomes the script, so it is that one's."""
_CREATE_RULESET, _ASK_VERSION = 444, 1


class Landlock(HostFolders):
    """Files, signals and TCP by Landlock; every other way out by seccomp."""

    name = "landlock"

    def missing(self) -> str | None:
        if sys.platform != "linux":
            return "it needs Linux"
        if not seccomp.supported():
            return "no seccomp filter is available for this architecture"
        version = _version()
        if version < _NEEDED:
            known = f"version {version}" if version > 0 else "none"
            return f"the kernel must have Landlock version {_NEEDED} or newer; it has {known}"
        return None

    def identity(self) -> str:
        return f"landlock {_version()} {Path(supervisor.__file__).stat().st_mtime_ns}"

    def start(self, confinement: Confinement, work: str) -> SupervisedProcess:
        user = hand_over(work, confinement)
        network = NETWORK_FILES if confinement.network else ()
        system = (*SYSTEM_FOLDERS, *SYSTEM_FILES, *_STARTING_FILES, *network)
        calls = seccomp.build_filter(
            network=confinement.network,
            own_namespaces=False,
            own_user=user is not None,
            machine=platform.machine(),
        )
        rules = {
            "filter": calls.hex(),
            "read_only": (*map(os.path.realpath, system), _ITSELF, *_sources(confinement.read_only)),
            "devices": DEVICES,
            "writable": (work, *_sources(confinement.writable)),
        }
        return SupervisedProcess.start(confinement, work, user=user, landlock=rules)


def _sources(mounts: tuple[Mount, ...]) -> list[str]:
    """What the supervisor opens: by the descriptor that it inherits, where there is one."""
    return [
        os.fspath(mount.source) if mount.descriptor is None else f"/proc/self/fd/{mount.descriptor}"
        for mount in mounts
    ]


def _version() -> int:
    library = ctypes.CDLL(None, use_errno=True)
    return int(library.syscall(_CREATE_RULESET, None, 0, _ASK_VERSION))
