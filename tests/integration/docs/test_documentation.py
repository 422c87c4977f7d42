"""Every example in the documentation runs."""

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def examples(language: str) -> list[object]:
    pages = [
        (page, [code for kind, code in FENCE.findall(page.read_text()) if kind == language]) for page in PAGES
    ]
    return [pytest.param(page, codes, id=page.name) for page, codes in pages if codes]


@pytest.mark.parametrize(("page", "codes"), examples("python"))
def test_the_python_examples_of_a_page_run_from_top_to_bottom(page, codes, tmp_path, monkeypatch):
    """In a folder of their own that looks like the project's, so that they may write."""
    for name in ("docs", "examples", "src"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for code in codes:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(code, str(page), "exec"), names)


def test_the_quick_start_runs():
    script = ROOT / "examples" / "quick_start.py"
    answer = subprocess.run([sys.executable, script], capture_output=True, text=True, cwd=ROOT, check=False)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout
