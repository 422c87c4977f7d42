"""The page for contributors names chores and benchmarks that exist."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
USAGE = subprocess.run(
    [sys.executable, ROOT / "dev.py", "--help"], capture_output=True, text=True, check=True
).stdout
CHORES = set(re.findall(r"^    python3 dev\.py (\w+)", USAGE, re.MULTILINE))


def test_the_pages_speak_only_of_chores_and_benchmarks_that_exist():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    told = re.findall(r"python3 dev\.py (\w+)(?: (\w+))?", "".join(page.read_text() for page in pages))
    assert {chore for chore, _ in told} <= CHORES
    benchmarks = {name for chore, name in told if chore == "bench" and name}
    assert benchmarks
    known = {path.stem for path in (ROOT / "benchmarks").iterdir()}
    assert benchmarks <= known
