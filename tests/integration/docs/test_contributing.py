"""The chores are the same by every road: dev.py, just, and the page for contributors."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
USAGE = subprocess.run(
    [sys.executable, ROOT / "dev.py", "--help"], capture_output=True, text=True, check=True
).stdout
CHORES = set(re.findall(r"^    python3 dev\.py (\w+)", USAGE, re.MULTILINE))


def test_just_has_a_recipe_for_every_chore():
    recipes = re.findall(
        r"^(\w+).*:\n    python3 dev\.py (\w+)", (ROOT / "justfile").read_text(), re.MULTILINE
    )
    assert {name for name, _ in recipes} == CHORES
    assert [pair for pair in recipes if pair[0] != pair[1]] == []


def test_the_pages_speak_only_of_chores_and_benchmarks_that_exist():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    told = re.findall(r"python3 dev\.py (\w+)(?: (\w+))?", "".join(page.read_text() for page in pages))
    assert {chore for chore, _ in told} <= CHORES
    benchmarks = {name for chore, name in told if chore == "bench" and name}
    assert benchmarks
    known = {path.stem for path in (ROOT / "benchmarks").iterdir()}
    assert benchmarks <= known
