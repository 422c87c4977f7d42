"""A process between skillkit and a script: confines the script, and ends its tree when either side ends.

Run as a program with nothing but the standard library: `python -I -S supervisor.py DESCRIPTOR`, where
the descriptor holds the order as JSON. It lives outside the sandbox that it makes. The control pipe
tells it to stop; the pipe also closes by itself when skillkit dies, however that happens.
"""

import ctypes
import json
import os
import resource
import select
import signal
import stat
import struct
import sys
from contextlib import suppress
from typing import Any

_PR_SET_PDEATHSIG = 1
_PR_SET_SECCOMP = 22
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_MODE_FILTER = 2
_LANDLOCK_CREATE_RULESET = 444
_LANDLOCK_ADD_RULE = 445
_LANDLOCK_RESTRICT_SELF = 446
_RULE_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_EVERYTHING = 0xFFFF  # the sixteen file rights of Landlock 5, ioctl on devices included
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | (1 << 14) | (1 << 15)
_DEVICE = _READ_FILE | _WRITE_FILE | (1 << 15)
_CONNECT_AND_BIND = 3
_ABSTRACT_SOCKETS_AND_SIGNALS = 3

_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FAILED_TO_START = 125


def main() -> None:
    with open(int(sys.argv[1]), encoding="utf-8") as file:
        order: dict[str, Any] = json.load(file)
    for descriptor in order["inherited"]:
        os.set_inheritable(descriptor, False)
    library = ctypes.CDLL(None, use_errno=True)
    _prctl(library, _PR_SET_CHILD_SUBREAPER, 1)
    supervisor = os.getpid()
    child = os.fork()
    if child == 0:
        try:
            _become_the_script(order, library, supervisor)
        except BaseException as error:
            os.write(order["status"], f"failed {error}\n".encode())
        os._exit(_FAILED_TO_START)
    # The script must be the only one that holds its pipes, or their end would not be the script's.
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.write(order["status"], f"pid {child}\n".encode())
    select.select([os.pidfd_open(child), order["control"]], [], [])
    code = _end_tree(child)
    if order["work"]:
        remove_tree(order["work"])
    try:
        os.write(order["status"], f"exit {code}\n".encode())
    except BrokenPipeError:  # whoever would read the output folder is gone
        if order["output"]:
            remove_tree(order["output"])


def _end_tree(child: int) -> int:
    """Kill the script's group, then whatever was orphaned to us, until nothing is left."""
    ended = os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status) if ended else -signal.SIGKILL
    while True:
        for descendant in descendants(os.getpid()):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(descendant, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return code if code >= 0 else 128 - code


def descendants(root: int) -> list[int]:
    """The processes that a process and its children have started, as far as they are its own."""
    found = []
    waiting = [root]
    while waiting:
        process = waiting.pop()
        try:
            for task in os.listdir(f"/proc/{process}/task"):
                with open(f"/proc/{process}/task/{task}/children", "rb") as file:
                    children = [int(child) for child in file.read().split()]
                found += children
                waiting += children
        except OSError:
            continue
    return found


def remove_tree(path: str) -> None:
    """Remove a folder of any depth, path length and mode.

    It goes down and up again by single names from one open folder to the next.
    """
    with suppress(OSError):  # an empty one goes without a descriptor: there may be none left
        os.rmdir(path)
        return
    try:
        here = os.open(path, _OPEN_FOLDER)
    except OSError:
        return
    above: list[tuple[str, list[str]]] = []
    try:
        left = _emptied(here)
        while left or above:
            if left:
                name = left.pop()
                os.chmod(name, 0o700, dir_fd=here)
                below = os.open(name, _OPEN_FOLDER, dir_fd=here)
                above.append((name, left))
                os.close(here)
                here = below
                left = _emptied(here)
            else:
                parent = os.open("..", _OPEN_FOLDER, dir_fd=here)
                os.close(here)
                here = parent
                name, left = above.pop()
                os.rmdir(name, dir_fd=here)
    except OSError:
        return
    finally:
        os.close(here)
    with suppress(OSError):
        os.rmdir(path)


def _emptied(folder: int) -> list[str]:
    """Remove the files of an open folder and name the folders that are left."""
    folders = []
    for name in os.listdir(folder):
        if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            folders.append(name)
        else:
            os.unlink(name, dir_fd=folder)
    return folders


def _become_the_script(order: dict[str, Any], library: ctypes.CDLL, supervisor: int) -> None:
    os.setsid()
    _prctl(library, _PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != supervisor:
        os._exit(_FAILED_TO_START)
    os.chdir(order["folder"])
    ruleset = _ruleset(order, library) if order["landlock"] else None
    if order["user"] is not None:
        os.setgroups([])
        os.setresgid(order["user"], order["user"], order["user"])
        os.setresuid(order["user"], order["user"], order["user"])
        _prctl(library, _PR_SET_PDEATHSIG, signal.SIGKILL)  # changing the user forgets it
    for name, value in order["limits"].items():
        which = getattr(resource, name)
        hard = resource.getrlimit(which)[1]
        lowest = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (lowest, lowest))
    _prctl(library, _PR_SET_NO_NEW_PRIVS, 1)
    if ruleset is not None:
        _checked(library.syscall(_LANDLOCK_RESTRICT_SELF, ruleset, 0), "landlock_restrict_self")
    if order["landlock"]:
        _install_filter(library, bytes.fromhex(order["landlock"]["filter"]))
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.execve(order["command"][0], order["command"], order["environment"])


def _ruleset(order: dict[str, Any], library: ctypes.CDLL) -> int:
    rights = struct.pack(
        "=QQQ",
        _EVERYTHING,
        0 if order["network"] else _CONNECT_AND_BIND,
        _ABSTRACT_SOCKETS_AND_SIGNALS,
    )
    ruleset = library.syscall(_LANDLOCK_CREATE_RULESET, rights, len(rights), 0)
    _checked(ruleset, "landlock_create_ruleset")
    for paths, access in (
        (order["landlock"]["read_only"], _READ),
        (order["landlock"]["devices"], _DEVICE),
        (order["landlock"]["writable"], _EVERYTHING),
    ):
        for path in paths:
            try:
                beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            allowed = access if os.path.isdir(path) else access & _FILE_RIGHTS
            rule = struct.pack("=Qi", allowed, beneath)
            result = library.syscall(_LANDLOCK_ADD_RULE, ruleset, _RULE_PATH_BENEATH, rule, 0)
            _checked(result, f"landlock_add_rule for {path}")
            os.close(beneath)
    return int(ruleset)


def _install_filter(library: ctypes.CDLL, program: bytes) -> None:
    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))

    wanted = Program(len(program) // 8, program)
    _prctl(library, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(wanted))


def _prctl(library: ctypes.CDLL, option: int, *arguments: Any) -> None:
    padded = [ctypes.c_ulong(value) if isinstance(value, int) else value for value in arguments] + [
        ctypes.c_ulong(0)
    ] * (4 - len(arguments))
    _checked(library.prctl(option, *padded), f"prctl {option}")


def _checked(result: int, what: str) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    main()
