"""Whenever a process dies, what is found afterwards is the old state or the new one."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

DRIVER = Path(__file__).parents[2] / "support" / "crash_driver.py"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """In memory where that is possible: thousands of fsyncs on a busy disk take minutes."""
    memory = Path("/dev/shm")
    if not (memory.is_dir() and os.access(memory, os.W_OK)):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="skillkit-crash-", dir=memory) as place:
        yield Path(place)


@pytest.mark.parametrize("action", ["add", "update", "remove", "rollback", "sync"])
def test_killed_at_every_call_on_the_disk_nothing_is_half_done(action: str, folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(DRIVER), str(folder), action],
        env={**os.environ, "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["points"] >= 30
    assert {"write", "fsync", "replace", "flock"} <= set(result["operations"])
