"""A fleet on a real Ray cluster: head and machines in a network and process namespace with loopback alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ray_cluster import INSIDE, namespace_command, why_no_namespace

HERE = Path(__file__).parent / "inside"
ROOT = Path(__file__).parents[3]
ATTACKS = ROOT / "tests" / "adversarial" / "scripts"
FILES = ("hosts_by_name", "inputs", "made_files", "other_bytes", "secrets", "ways_out")
"""Attacks that meet code of the fleet; the others end in the sandbox that every runner has."""
TARGETS = {
    "running": [HERE / "inside_running.py", HERE / "inside_runner_suite.py", HERE / "inside_conformance.py"],
    "faults": [HERE / "inside_faults.py"],
    "network": [HERE / "inside_network.py"],
    "attacks": ["-m", "not this_machine", *(ATTACKS / f"test_{name}.py" for name in FILES)],
}


@pytest.mark.slow
@pytest.mark.xdist_group("fleet")
@pytest.mark.parametrize("target", sorted(TARGETS))
def test_inside_a_namespace(target):
    if reason := why_no_namespace():
        pytest.skip(f"no namespace can be made here: {reason}")
    options = ["-q", "-x", "-p", "no:randomly", "-p", "no:cacheprovider", "-n0"]
    files = ["-o", "python_files=inside_*.py test_*.py"]
    ended = subprocess.run(
        [*namespace_command(), sys.executable, "-m", "pytest", *options, *files, *TARGETS[target]],
        cwd=ROOT,
        env={**os.environ, INSIDE: "1"},
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout[-8000:] + ended.stderr[-2000:]
