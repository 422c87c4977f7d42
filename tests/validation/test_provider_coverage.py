"""The tests of the context provider alone reach more than 95 % of it, in lines and branches."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


def test_the_context_provider_is_covered_by_its_own_tests(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    data = {"COVERAGE_FILE": str(tmp_path / "data")}
    report = tmp_path / "report.json"
    options = [
        "--cov=skillkit.disclosure",
        "--cov-branch",
        f"--cov-report=json:{report}",
        "--cov-fail-under=0",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "tests/unit/disclosure", *options],
        cwd=ROOT,
        env=environment | data,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    files = json.loads(report.read_text())["files"]
    assert files["src/skillkit/disclosure/provider.py"]["summary"]["percent_covered"] >= 95
