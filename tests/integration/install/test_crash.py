"""Whenever a process dies, what is found afterwards is the old state or the new one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

DRIVER = Path(__file__).parents[2] / "support" / "crash_driver.py"


@pytest.mark.parametrize("action", ["add", "update", "remove", "rollback", "sync"])
def test_killed_at_every_call_on_the_disk_nothing_is_half_done(action: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(DRIVER), str(tmp_path), action],
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["points"] >= 30
    assert {"write", "fsync", "replace", "flock"} <= set(result["operations"])
