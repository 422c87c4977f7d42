"""`agent skill run`: scripts of trusted skills, by hand."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from program import clean_environment, run_here
from wheels import build_source, build_wheel

pytestmark = pytest.mark.skipif(not shutil.which("bwrap"), reason="bubblewrap is not installed")


def agent(folder: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return run_here(*arguments, cwd=folder, environment=clean_environment(folder, **environ))


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
    runs = agent(tmp_path, "journal", "export", "--skill", "Copy").stdout.splitlines()
    assert [json.loads(line)["data"]["exit_code"] for line in runs if '"script_run"' in line] == [0, 0]
    assert agent(tmp_path, "skill", "run", "copy", "greet").returncode == 1
    assert agent(tmp_path, "skill", "run", "copy", "missing").returncode == 1


def test_a_script_runs_where_the_home_cannot_be_written(tmp_path: Path) -> None:
    run = ("skill", "run", "hello-extended", "advanced_greeting", "--name", "Ada")
    ran = agent(tmp_path, *run, AGENT_HOME="/proc/nowhere")
    assert (ran.returncode, "Ada" in ran.stdout) == (0, True), ran.stderr


def write_own_skill(folder: Path, script: str) -> Path:
    """A skill in the user's own folder, which is trusted."""
    base = folder / ".agent" / "skills" / "demo"
    (base / "scripts").mkdir(parents=True)
    (base / "SKILL.md").write_text("---\nname: demo\ndescription: Does things\n---\n# Demo\n")
    (base / "scripts" / "tell.py").write_text(script)
    return base


def test_a_file_with_an_at_is_handed_over_and_what_is_made_is_shown(tmp_path: Path) -> None:
    write_own_skill(
        tmp_path,
        "import pathlib, sys\n"
        "text = pathlib.Path(sys.argv[1]).read_text()\n"
        "print(sys.argv[1:])\n"
        "pathlib.Path('/output/copy.txt').write_text(text)\n",
    )
    (tmp_path / "data.csv").write_text("1,2")
    ran = agent(tmp_path, "skill", "run", "demo", "tell", "@data.csv", "@nobody", "a@b")
    assert ran.stdout == "['/input/data.csv', '@nobody', 'a@b']\n", ran.stderr
    (made,) = (tmp_path / ".agent" / "outputs").glob("*/*/copy.txt")
    assert made.read_text() == "1,2"
    assert f"Made {made} (3 bytes)" in ran.stderr.replace("\n", " ").replace("  ", " ")


def test_packages_are_shown_accepted_and_taken_back(tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    build_wheel(wheels, "outer", {"outer.py": "VALUE = 7"})
    index = {"UV_FIND_LINKS": str(wheels), "UV_DEFAULT_INDEX": wheels.as_uri()}
    write_own_skill(tmp_path, "import outer\nprint(outer.VALUE)\n")
    failed = agent(tmp_path, "skill", "run", "demo", "tell")
    assert "agent skill packages demo" in failed.stderr
    shown = json.loads(agent(tmp_path, "skill", "packages", "demo", "--json").stdout)
    assert (shown["accepted"], shown["needed"][0]["package"]) == (None, "outer")
    accepted = agent(tmp_path, "skill", "packages", "demo", "--yes", **index)
    assert "get 1 package, locked by hash" in accepted.stdout, accepted.stderr
    assert agent(tmp_path, "skill", "run", "demo", "tell", **index).stdout == "7\n"
    (consent,) = json.loads(agent(tmp_path, "config", "approvals", "--json").stdout)["consents"]
    assert (consent["kind"], consent["place"]) == ("packages", "outer")
    assert agent(tmp_path, "config", "revoke", "demo", "--kind", "packages").returncode == 0
    assert agent(tmp_path, "skill", "run", "demo", "tell").returncode == 1


def test_a_package_that_cannot_be_had_is_named_with_the_command_that_goes_on_without(tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    build_wheel(wheels, "outer", {"outer.py": "VALUE = 7"})
    build_source(wheels, "unbuilt", tmp_path / "trace")
    index = {"UV_FIND_LINKS": str(wheels), "UV_DEFAULT_INDEX": wheels.as_uri()}
    write_own_skill(tmp_path, "import outer, unbuilt, absent_one\n")
    without: list[str] = []
    for _ in range(3):
        told = agent(tmp_path, "skill", "packages", "demo", "--yes", *without, **index)
        if told.returncode == 0:
            break
        without = told.stderr.replace("\n", " ").partition("agent skill packages demo ")[2].split()
    assert sorted(without) == ["--without=absent-one", "--without=unbuilt"], told.stderr
    assert "get 1 package, locked by hash" in told.stdout
    assert not (tmp_path / "trace").exists()


def test_a_project_and_a_host_are_granted_and_taken_back_one_by_one(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "main.py").write_text("shown")
    (project / ".env").write_text("KEY=1")
    base = write_own_skill(
        tmp_path,
        "import os, sys\n"
        "for name in ('main.py', '.env', 'notes.txt'):\n"
        "    try: print(open(f'{sys.argv[1]}/{name}').read())\n"
        "    except OSError: print('no')\n",
    )
    (project / "notes.txt").write_text("mine")

    def read() -> list[str]:
        ran = agent(project, "skill", "run", "demo", "tell", str(project), HOME=str(tmp_path))
        return ran.stdout.split()

    def configure(*arguments: str) -> str:
        return agent(project, "config", *arguments, HOME=str(tmp_path)).stdout

    assert read() == ["no", "no", "no"]
    assert "may read" in configure("approve", "demo", "--project", ".", "--hide", "notes.txt")
    assert read() == ["shown", "no", "no"]
    configure("approve", "demo", "--host", "api.example.com")
    kinds = {each["kind"] for each in json.loads(configure("approvals", "--json"))["consents"]}
    assert kinds == {"run", "project", "host"}
    data = agent(project, "skill", "run", "--json", "demo", "tell", "x", HOME=str(tmp_path)).stdout
    assert json.loads(data)["meta"]["grants"]["hosts"] == ["api.example.com"]
    configure("revoke", "demo", "--kind", "project")
    assert read() == ["no", "no", "no"]
    assert agent(project, "config", "approve", "demo", "--project", "..", HOME=str(tmp_path)).returncode != 0
    assert base.exists()


def test_a_secret_is_kept_listed_and_forgotten_without_being_shown(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from skillkit.agent.cli import main; main()", "secret"]

    def secret(*arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *arguments],
            cwd=tmp_path,
            env=clean_environment(tmp_path),
            input=typed,
            capture_output=True,
            text=True,
            check=False,
        )

    kept = secret("set", "API_KEY", typed="sk-live-42424242\n")
    assert (kept.returncode, "sk-live" in kept.stdout + kept.stderr) == (0, False), kept.stderr
    assert "secrets.json" in kept.stdout
    assert "plain file" in kept.stderr
    assert secret("list").stdout == "API_KEY\n"
    assert secret("remove", "API_KEY").returncode == 0
    assert secret("remove", "API_KEY").returncode == 1


def test_the_help_of_a_script_that_prints_none_is_its_text(tmp_path: Path) -> None:
    write_own_skill(tmp_path, '"""Counts things."""\nimport argparse, nobody_has_this\n')
    asked = agent(tmp_path, "skill", "run", "demo", "tell", "--help")
    assert (asked.returncode, asked.stdout) == (0, "Counts things.\n"), asked.stderr
    assert "tell printed no help; this is what its text says" in asked.stderr
    assert "agent skill packages demo" in asked.stderr
