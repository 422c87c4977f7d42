"""`agent skill run`: scripts of trusted skills, by hand."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from program import clean_environment

pytestmark = pytest.mark.skipif(not shutil.which("bwrap"), reason="bubblewrap is not installed")


def agent(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from skillkit.agent.cli import main; main()", *arguments],
        cwd=folder,
        env=clean_environment(folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_script_runs_once_its_skill_is_trusted(tmp_path: Path) -> None:
    agent(tmp_path, "skill", "create", "pdf", "--template", "scripts")
    refused = agent(tmp_path, "skill", "run", "pdf", "greet", "Ada")
    assert refused.returncode == 4
    assert "not trusted" in refused.stderr
    assert agent(tmp_path, "skill", "add", "./skills/pdf", "--name", "copy", "--trusted").returncode == 0
    assert agent(tmp_path, "skill", "run", "copy").stdout == "greet\n"
    ran = agent(tmp_path, "skill", "run", "copy", "greet", "Ada")
    assert (ran.returncode, ran.stdout) == (0, "Hello, Ada!\n"), ran.stderr
    data = json.loads(agent(tmp_path, "skill", "run", "--json", "copy", "greet", "Ada").stdout)
    assert data["result"] == {"greeting": "Hello, Ada!"}
    assert data["meta"]["backend"] != "none"
    assert agent(tmp_path, "skill", "run", "copy", "greet").returncode == 1
    assert agent(tmp_path, "skill", "run", "copy", "missing").returncode == 1


def test_a_script_runs_where_the_home_cannot_be_written(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from skillkit.agent.cli import main; main()"]
    ran = subprocess.run(
        [*command, "skill", "run", "hello-extended", "advanced_greeting", "--name", "Ada"],
        cwd=tmp_path,
        env=clean_environment(tmp_path, AGENT_HOME="/proc/nowhere"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, "Ada" in ran.stdout) == (0, True), ran.stderr
