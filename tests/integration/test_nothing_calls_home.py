"""No library that we import writes into the user's home, resolves a name or opens a connection."""

import ast
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import skillkit

SOURCE = Path(skillkit.__file__).parent
CALLS = "connect,sendto,sendmsg,sendmmsg,openat,open,creat,mkdir,mkdirat,rename,renameat,renameat2"
NETWORK = re.compile(r"\b(?:connect|sendto|sendmsg|sendmmsg)\(.*AF_INET")
WRITING = re.compile("O_CREAT|mkdir|creat|rename")
MATCHING = """
from pathlib import Path
from skillkit.core.models import SkillMetadata, SourceType
from skillkit.matching import MatchingSettings, SkillMatcher
skill = SkillMetadata("pdf", "Extract text from PDF files", Path("/s/pdf/SKILL.md"), source=SourceType.CUSTOM)
SkillMatcher([skill], mode="hybrid", body=lambda _: "", settings=MatchingSettings()).match("text of a PDF")
"""


def imported_libraries() -> list[str]:
    """Every installed module of another project that a line of skillkit imports, however late."""
    names: set[str] = set()
    for file in SOURCE.rglob("*.py"):
        if "bundled" in file.parts:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module)
    foreign = (name for name in names if name.partition(".")[0] not in {*sys.stdlib_module_names, "skillkit"})
    return sorted(name for name in foreign if is_installed(name))


def is_installed(name: str) -> bool:
    """Whether a project is here; several share a namespace such as `google`, which says nothing of each."""
    top, *inner = name.split(".")
    found = importlib.util.find_spec(top)
    if found is None or found.origin is not None or not inner:
        return found is not None
    return importlib.util.find_spec(f"{top}.{inner[0]}") is not None


def traced(program: str, home: Path) -> str:
    """The system calls of `program` for files and sockets, run by a user whose home is empty."""
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
    trace = home.parent / "trace"
    command = ["strace", "-f", "-qq", "-e", f"trace={CALLS}", "-o", str(trace), sys.executable, "-c", program]
    ended = subprocess.run(command, env=environment, cwd=home, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return trace.read_text(errors="replace")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace (dev.py system)")
def test_imports_and_matching_leave_the_home_empty_and_the_network_alone(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    libraries = imported_libraries()
    assert "onnxruntime" in libraries
    imports = "".join(f"import {name}\n" for name in libraries if name != "onnxruntime")
    calls = traced(f"{MATCHING}\n{imports}", home).splitlines()
    assert list(home.rglob("*")) == []
    assert [call for call in calls if NETWORK.search(call)] == []
    assert [call for call in calls if f'"{home}' in call and WRITING.search(call)] == []


def test_listing_the_tools_of_a_manager_loads_no_model(tmp_path):
    (tmp_path / "pdf").mkdir()
    (tmp_path / "pdf" / "SKILL.md").write_text("---\nname: pdf\ndescription: Read PDF files\n---\nRead.\n")
    program = """
import sys
from skillkit import SkillManager
manager = SkillManager(sys.argv[1], anthropic_config_dir="")
assert manager.tools()
print([name for name in ("numpy", "onnxruntime", "skillkit.matching.matcher") if name in sys.modules])
"""
    found = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert found.stdout == "[]\n"
