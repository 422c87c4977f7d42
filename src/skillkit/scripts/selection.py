"""Which backend holds scripts on this machine: found by trying, remembered, never assumed."""

import contextlib
import json
import logging
import os
import platform
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Lock

from skillkit.core.disk import make_folder, replace_file
from skillkit.core.exceptions import ConfigurationError, SkillsUseError
from skillkit.scripts.capture import Cancellation, run_to_end
from skillkit.scripts.models import Limits, Outcome
from skillkit.scripts.pythons import find_python
from skillkit.scripts.sandbox.backend import Backend, Confinement, Mount, SandboxError, needs_reachable_files
from skillkit.scripts.sandbox.bubblewrap import Bubblewrap
from skillkit.scripts.sandbox.landlock import Landlock
from skillkit.scripts.sandbox.sandbox_exec import SandboxExec
from skillkit.scripts.sandbox.unconfined import Unconfined

logger = logging.getLogger(__name__)

BACKENDS: tuple[type[Backend], ...] = (Bubblewrap, Landlock, SandboxExec, Unconfined)
SETTING = "SKILLKIT_SANDBOX"
_HELD = 42
_PROBE = """
import os, socket, sys
canary, outside, port, name = sys.argv[1:]
def succeeds(attempt):
    try:
        attempt()
    except (OSError, ValueError):
        return False
    return True
def parent_environment():
    pairs = open("/proc/%d/environ" % os.getppid()).read().split("\\0")
    if {pair.partition("=")[0] for pair in pairs if pair} <= set(os.environ):
        raise ValueError
def connect(*kind):
    with socket.socket(*kind) as s:
        s.settimeout(5)
        s.connect(("127.0.0.1", int(port)))
def send(address):
    for kind in (2, 3, 4, 6):  # streams and packets of a pair go to the other half, whatever is asked
        try:
            socket.socketpair(socket.AF_UNIX, kind)[0].sendto(b"out", address)
            return
        except OSError:
            pass
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.sendto(b"out", address)
for what, attempt in (
    ("read a file", lambda: open(canary).read()),
    ("write a file", lambda: open(os.path.join(outside, "written"), "w")),
    ("connect", lambda: connect(socket.AF_INET, socket.SOCK_STREAM)),
    ("connect by MPTCP", lambda: connect(socket.AF_INET, socket.SOCK_STREAM, 262)),
    ("send to a unix socket", lambda: send(os.path.join(outside, "socket"))),
    ("send to an abstract unix socket", lambda: send(chr(0) + name)),
    ("make a datagram socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)),
    ("signal our process", lambda: os.kill(int(os.environ["PROBED_BY"]), 0)),
    ("read its parent's environment", parent_environment),
):
    if succeeds(attempt):
        sys.exit("a script can " + what)
if hasattr(os, "getuid") and os.getuid() == 0 and os.environ["ROOT"] == "1":
    sys.exit("a script is root")
open(os.path.join(os.environ["TMPDIR"], "own"), "w").write("its own folder must work")
sys.exit(42)
"""


class NoSandboxError(SkillsUseError):
    """Nothing on this machine holds a script; the message says what was tried and why it failed."""


class SandboxSelection:
    """The backend for this machine, chosen once and remembered on disk beneath `folder`."""

    def __init__(self, folder: Path, setting: str | None = None) -> None:
        self._file = folder / "sandbox.json"
        self._setting = setting
        self._lock = Lock()
        self._chosen: dict[str, Backend] = {}

    def choose(self, *, unsandboxed: bool = False, environ: Mapping[str, str] | None = None) -> Backend:
        """The strongest backend whose self-test passes, as SKILLKIT_SANDBOX allows.

        Raises NoSandboxError if there is none; with `unsandboxed` the backend `none` will do, but
        only where it was asked for or nothing else works.
        """
        setting = self._setting or (environ or os.environ).get(SETTING, "") or "auto"
        names = [backend.name for backend in BACKENDS]
        if setting not in (*names, "auto"):
            raise ConfigurationError(
                f"{SETTING}={setting} is not one of auto, {', '.join(names)}", parameter_name=SETTING
            )
        with self._lock:
            backend = self._chosen.get(setting) or self._first_that_holds(setting)
            if backend.confines:
                self._chosen[setting] = backend
        if not backend.confines and not unsandboxed:
            raise NoSandboxError(self._why_not(setting))
        return backend

    def forget(self) -> None:
        """After a backend that had passed has failed, try again from the start."""
        with self._lock:
            self._chosen.clear()
            self._file.unlink(missing_ok=True)

    def report(self) -> dict[str, str]:
        """Each backend and why it does not hold here; an empty reason means that it does."""
        return {backend.name: self.reason(backend) or "" for kind in BACKENDS if (backend := kind()).confines}

    def reason(self, backend: Backend) -> str | None:
        """Why `backend` does not hold scripts here, from memory if nothing relevant has changed."""
        if (missing := backend.missing()) is not None:
            return missing
        key = " ".join(
            (
                platform.release(),
                platform.machine(),
                str(os.geteuid()),
                sys.version.split()[0],
                backend.identity(),
            )
        )
        known = self._read()
        if isinstance(verdict := known.get(backend.name), dict) and verdict.get("key") == key:
            return verdict.get("reason")
        reason = self_test(backend)
        logger.info("Sandbox %s: %s", backend.name, reason or "holds")
        self._write({**known, backend.name: {"key": key, "reason": reason}})
        return reason

    def _first_that_holds(self, setting: str) -> Backend:
        for kind in BACKENDS:
            backend = kind()
            if setting == backend.name and not backend.confines:
                return backend
            if setting in ("auto", backend.name) and backend.confines and self.reason(backend) is None:
                return backend
        if setting == "auto":
            return Unconfined()
        raise NoSandboxError(self._why_not(setting))

    def _why_not(self, setting: str) -> str:
        remedy = "allow this version of the skill to run unsandboxed"
        if setting == Unconfined.name:
            return f"{SETTING}=none: without a sandbox only allowed skills run; {remedy}"
        tried = "; ".join(
            f"{name}: {reason}"
            for name, reason in self.report().items()
            if setting in ("auto", name) and reason
        )
        return f"No sandbox holds scripts on this machine ({tried}); install bubblewrap or {remedy}"

    def _read(self) -> dict[str, dict[str, str | None]]:
        try:
            known = json.loads(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return known if isinstance(known, dict) else {}

    def _write(self, known: Mapping[str, object]) -> None:
        with contextlib.suppress(OSError):
            make_folder(self._file.parent)
            replace_file(self._file, json.dumps(known, indent=1).encode())


def self_test(backend: Backend) -> str | None:
    """Attack a backend from inside; None if it held, else what went wrong."""
    python = find_python("", reachable=needs_reachable_files(backend))
    if python is None:
        return "no Python that another user than root can read"
    outside = tempfile.mkdtemp(prefix="skillkit-probe-")
    os.chmod(outside, 0o777)
    cancellation = Cancellation()
    try:
        canary = Path(outside) / "canary"
        canary.write_text("seen")
        name = os.path.basename(outside)
        with socket.create_server(("127.0.0.1", 0)) as listener, _unix_listeners(outside, name):
            port = listener.getsockname()[1]
            work = backend.work_folder()
            confinement = Confinement(
                command=(str(python.program), "-I", "-c", _PROBE, str(canary), outside, str(port), name),
                folder=Path("/"),
                environment={
                    "PATH": "/usr/bin:/bin",
                    "TMPDIR": work,
                    "PROBED_BY": str(os.getpid()) if not backend.mounts else "4194304",
                    "ROOT": "1" if os.geteuid() == 0 else "0",
                },
                limits=Limits(timeout=30),
                read_only=(Mount(python.prefix, python.prefix),),
            )
            ended = run_to_end(backend.start(confinement, work), confinement.limits, cancellation)
    except (SandboxError, SkillsUseError) as error:
        return str(error)
    finally:
        cancellation.close()
        shutil.rmtree(outside, ignore_errors=True)
    if ended.outcome is Outcome.EXITED and ended.exit_code == _HELD and not ended.failure:
        return None
    said = ended.stderr.ending(500).decode("utf-8", "replace").strip()
    return said or ended.failure or f"the self-test ended with {ended.outcome.value} {ended.exit_code}"


@contextlib.contextmanager
def _unix_listeners(folder: str, name: str) -> Iterator[None]:
    """Datagram sockets that anybody may write to: in `folder`, and where there are such, an abstract one."""
    with contextlib.ExitStack() as stack:
        for address in (os.path.join(folder, "socket"), f"\0{name}"):
            listener = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
            with contextlib.suppress(OSError):  # a path too long for one, a system without the other
                listener.bind(address)
                if not address.startswith("\0"):
                    os.chmod(address, 0o777)
        yield
