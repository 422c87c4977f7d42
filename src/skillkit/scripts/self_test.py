"""An attack on a sandbox from inside, made on this machine before anything relies on it."""

import contextlib
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

from skillkit.core.exceptions import SkillsUseError
from skillkit.core.grants import Limits
from skillkit.core.pythons import find_python
from skillkit.scripts.capture import Cancellation, run_to_end
from skillkit.scripts.models import Outcome
from skillkit.scripts.sandbox.backend import Backend, Confinement, Mount, needs_reachable_files

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
    except (SkillsUseError, OSError) as error:
        return str(error)
    finally:
        cancellation.close()
        shutil.rmtree(outside, ignore_errors=True)
    if ended.outcome is Outcome.EXITED and ended.exit_code == _HELD and not ended.message:
        return None
    said = ended.stderr.ending(500).decode("utf-8", "replace").strip()
    return said or ended.message or f"the self-test ended with {ended.outcome.value} {ended.exit_code}"


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
