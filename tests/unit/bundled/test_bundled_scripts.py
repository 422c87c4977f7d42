"""Every bundled script is self-contained, and what the Kalshi scripts share is the same in all of them."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import skillkit

BUNDLED = Path(skillkit.__file__).parent / "bundled"
SCRIPTS = sorted(BUNDLED.glob("*/scripts/*.py"))
KALSHI = sorted((BUNDLED / "kalshi-markets" / "scripts").glob("*.py"))
PART = re.compile(r"^# -- shared part: (\w+).*?^# -- end of \1 --$", re.DOTALL | re.MULTILINE)
each = pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)


def inline_metadata(script: Path) -> dict[str, object]:
    block = re.match(r"# /// script\n((?:#.*\n)+?)# ///\n", script.read_text())
    assert block is not None
    return tomllib.loads(re.sub(r"^# ?", "", block[1], flags=re.MULTILINE))


def test_the_ten_scripts_of_the_reference_are_there():
    names = "event events market markets orderbook search series series_list status trades"
    assert [script.stem for script in KALSHI] == names.split()


@each
def test_a_script_declares_all_that_it_imports(script):
    imported = set()
    for node in ast.walk(ast.parse(script.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            imported.add((node.module or "").partition(".")[0])
    declared = {re.match(r"[\w-]+", name)[0] for name in inline_metadata(script)["dependencies"]}
    assert imported - sys.stdlib_module_names == declared


@each
def test_a_script_helps(script):
    answer = subprocess.run(
        [sys.executable, "-B", script, "--help"], capture_output=True, text=True, check=False
    )
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.lower().startswith("usage:")
    assert "--json" in answer.stdout
    assert "Example:" in answer.stdout


def test_shared_parts_are_the_same_in_every_script():
    copies: dict[str, set[str]] = {}
    for script in KALSHI:
        parts = {match[1]: match[0] for match in PART.finditer(script.read_text())}
        assert "client" in parts
        for name, text in parts.items():
            copies.setdefault(name, set()).add(text)
    assert copies.keys() == {"client", "pages", "table", "ticker"}
    assert all(len(texts) == 1 for texts in copies.values())
