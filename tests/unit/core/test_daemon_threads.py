"""A call that never returns keeps no program from ending."""

import asyncio
import subprocess
import sys

import pytest

from skillkit.core.threads import in_daemon_thread

PROGRAM = """
import asyncio, threading
from skillkit.core.threads import in_daemon_thread

async def main():
    try:
        await asyncio.wait_for(in_daemon_thread(threading.Event().wait), 0.05)
    except TimeoutError:
        print("given up")

asyncio.run(main())
"""


def test_a_program_ends_while_a_call_is_waiting() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, "given up\n"), done.stderr


async def test_results_and_errors_come_back() -> None:
    assert await in_daemon_thread(divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        await in_daemon_thread(divmod, 7, 0)
    waiting = asyncio.create_task(in_daemon_thread(divmod, 7, 2))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
