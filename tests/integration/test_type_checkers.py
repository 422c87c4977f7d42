"""The programs of examples/ and of pages under strict type checkers, as a user's own code."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from stock_programs import from_npm

ROOT = Path(__file__).parents[2]
PYRIGHT = "pyright@1.1.414"
PAGES = ("README.md", "docs/SKILLS.md", "docs/extending.md")
PARTLY_UNKNOWN = ("create_agent", "invoke")
"""What LangChain itself leaves partly unknown."""


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """The examples in a folder of their own, with the code of each page as one program."""
    for program in [*(ROOT / "examples").glob("*.py"), *(ROOT / "examples" / "guides").glob("*.py")]:
        shutil.copy(program, tmp_path)
    for page in map(Path, PAGES):
        codes = re.findall(r"^```python\n(.*?)^```$", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)
        (tmp_path / f"page_{page.stem}.py").write_text("\n\n".join(codes))
    return tmp_path


@pytest.mark.slow
def test_the_examples_pass_mypy_strict(programs: Path):
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file",
        "",
        "--cache-dir",
        ".mypy_cache",
        ".",
    ]
    done = subprocess.run(command, cwd=programs, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_the_examples_pass_pyright_strict(programs: Path, pytestconfig: pytest.Config):
    settings = {"include": ["."], "typeCheckingMode": "strict"}
    (programs / "pyrightconfig.json").write_text(json.dumps(settings))
    program = from_npm(pytestconfig, PYRIGHT) / ".bin" / "pyright"
    command = [program, "--pythonpath", sys.executable, "--outputjson", "-p", "."]
    done = subprocess.run(command, cwd=programs, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)["generalDiagnostics"]
    ours = [each for each in found if not each["message"].startswith(_partly_unknown())]
    assert ours == []


def _partly_unknown() -> tuple[str, ...]:
    return tuple(f'Type of "{name}" is partially unknown' for name in PARTLY_UNKNOWN)
