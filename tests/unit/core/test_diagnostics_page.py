"""docs/diagnostics.md lists what the code says, and its example runs."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import skillkit
from skillkit.core.parser import RULES

PAGE = Path(__file__).parents[3] / "docs" / "diagnostics.md"
SOURCES = sorted(Path(skillkit.__file__).parent.rglob("*.py"))
SAYING = {"Diagnostic": 1, "_say": 1, "_say_once": 1, "_failure": 1, "note": 0, "_UnreadableError": 0}
"""Functions that make a diagnostic, and which of their arguments is the code."""


def rows() -> dict[str, str]:
    return dict(
        re.findall(r"^\| `([a-z-]+)` \| ([a-z ]+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    )


def codes_in(path: Path) -> set[str]:
    codes = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            position = SAYING.get(called)
            if position is not None and len(node.args) > position:
                code = node.args[position]
                if isinstance(code, ast.Constant) and isinstance(code.value, str):
                    codes.add(code.value)
        if isinstance(node, ast.FunctionDef) and node.name == "_code":
            returned = [found.value for found in ast.walk(node) if isinstance(found, ast.Return)]
            texts = (value.value for value in returned if isinstance(value, ast.Constant))
            codes |= {text for text in texts if isinstance(text, str)}
    return codes


def test_the_page_and_the_code_list_the_same_codes() -> None:
    said = set(RULES).union(*(codes_in(path) for path in SOURCES))
    assert {"yaml", "folder-limit", "not-a-file", "name-collision", "bad-pattern", "file-name"} <= said
    assert set(rows()) == said


@pytest.mark.parametrize(("code", "severity"), RULES.items())
def test_the_page_gives_the_severity_of_each_rule(code: str, severity: object) -> None:
    assert rows()[code] == severity.value


def test_the_example_prints_what_the_page_says(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    [program] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    [expected] = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, expected), done.stderr
