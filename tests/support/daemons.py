"""A script that leaves processes behind, and how tests look for them."""

import contextlib
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path


def processes_with(marker: str) -> list[int]:
    """Processes that carry `marker` on their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                if marker.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
    return found


def until(condition: Callable[[], bool]) -> None:
    """Wait for something that is bound to happen."""
    deadline = time.monotonic() + 300
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline
        pause.wait(0.01)


DAEMONS = """
    import os, subprocess, sys, time
    marker = sys.argv[1]
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    sleeper = [sys.executable, "-c", stubborn, marker]
    def orphan(depth, leave):
        if os.fork() == 0:
            if leave:
                try:
                    os.setsid()
                except OSError:
                    pass
            if depth:
                orphan(depth - 1, leave)
                os._exit(0)
            os.execv(sys.executable, sleeper)
    for depth in (0, 1, 3):
        for leave in (False, True):
            orphan(depth, leave)
    subprocess.Popen(sleeper)
    print("[]", flush=True)
"""
