"""macOS: `sandbox-exec` with a profile that denies everything it does not name."""

import os
import platform
import shutil

from skillkit.scripts.sandbox.backend import Confinement, ProcessGroup
from skillkit.scripts.sandbox.supervised import HostFolders

_PROGRAM = "sandbox-exec"
_SYSTEM = (
    "/usr/lib",
    "/usr/bin",
    "/bin",
    "/usr/share",
    "/System",
    "/Library/Frameworks",
    "/Library/Developer/CommandLineTools",
    "/private/var/db/dyld",
    "/private/etc/ssl",
)
_NETWORK = ("/private/etc/hosts", "/private/etc/resolv.conf", "/private/var/run/resolv.conf")


class SandboxExec(HostFolders):
    """Apple's own sandbox, driven by a written profile."""

    name = "sandbox-exec"

    def missing(self) -> str | None:
        if platform.system() != "Darwin":
            return "it needs macOS"
        return None if shutil.which(_PROGRAM) else "the program sandbox-exec is not installed"

    def identity(self) -> str:
        return "sandbox-exec 1"

    def start(self, confinement: Confinement, work: str) -> ProcessGroup:
        command = [_PROGRAM, "-p", profile(confinement, work), *confinement.command]
        return ProcessGroup.start(command, confinement, work)


def profile(confinement: Confinement, work: str) -> str:
    """The rules for one run, in the language of `sandbox-exec`."""
    readable = [*_SYSTEM, *(os.path.realpath(mount.source) for mount in confinement.read_only)]
    writable = [work, *(os.path.realpath(mount.source) for mount in confinement.writable)]
    if confinement.network:
        readable += _NETWORK
    rules = [
        "(version 1)",
        "(deny default)",
        "(allow process-fork)",
        "(allow process-exec)",
        "(allow signal (target same-sandbox))",
        "(allow sysctl-read)",
        "(allow file-read-metadata)",
        '(allow file-read* (literal "/") (literal "/dev/null") (literal "/dev/urandom"))',
        '(allow file-write-data (literal "/dev/null"))',
        *(f"(allow file-read* (subpath {_quoted(path)}))" for path in (*readable, *writable)),
        *(f"(allow file-write* (subpath {_quoted(path)}))" for path in writable),
    ]
    if confinement.network:
        rules += [
            '(allow network-outbound (remote ip "*:*"))',
            '(allow network-outbound (literal "/private/var/run/mDNSResponder"))',
            '(allow mach-lookup (global-name "com.apple.trustd"))',
            '(allow mach-lookup (global-name "com.apple.SystemConfiguration.configd"))',
        ]
    return "\n".join(rules)


def _quoted(path: str) -> str:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
