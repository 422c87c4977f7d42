"""Tests that share a browser, a cluster or the embedded model run one after the other."""

import subprocess
import sys
from pathlib import Path

import pytest

FILE = """
import os, pathlib, pytest
pytestmark = pytest.mark.xdist_group("one")

@pytest.mark.parametrize("number", range(6))
def test_who(number):
    with open("workers", "a") as file:
        file.write(os.environ["PYTEST_XDIST_WORKER"] + "\\n")
"""


@pytest.mark.slow
def test_a_group_stays_with_one_worker(tmp_path: Path) -> None:
    """pytest 9.2 and pytest-xdist 3.8 ignore groups together, without a word."""
    (tmp_path / "test_group.py").write_text(FILE)
    arguments = [
        "-q",
        "-n2",
        "--dist=loadgroup",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:skillkit",
        "test_group.py",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert len(set((tmp_path / "workers").read_text().split())) == 1
