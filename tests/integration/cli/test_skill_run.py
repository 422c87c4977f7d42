"""`agent skill run` runs a script as an agent does, and says what became of it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

AGENT = Path(sys.executable).with_name("agent")


@pytest.fixture
def agent(tmp_path):
    def agent(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [AGENT, "skill", "run", *arguments],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, **environment},
            check=False,
        )

    return agent


@pytest.fixture
def echo(write_skill, skills_dir):
    """A skill in a folder that nobody approved, which asks for the network and a variable."""
    header = "name: echo\ndescription: d\npermissions: {network: true, env: [ECHO_KEY]}"
    folder = write_skill("echo", header=header)
    (folder / "scripts").mkdir()
    (folder / "scripts" / "tell.py").write_text(
        "import json, os, socket, sys\n"
        "try:\n    socket.socket(); network = True\n"
        "except OSError:\n    network = False\n"
        "print(json.dumps([sys.argv[1:], 'ECHO_KEY' in os.environ, network]))\n"
    )
    (folder / "scripts" / "fail.py").write_text("import sys\nsys.stderr.write('why\\nmore')\nsys.exit(3)\n")
    return skills_dir


def test_without_a_script_they_are_listed(agent):
    assert agent("hello-extended").stdout == "advanced_greeting\n"
    assert "status" in agent("Kalshi_Markets").stdout.split()
    nothing = agent("skill-author")
    assert (nothing.returncode, nothing.stdout) == (0, "")
    assert "no scripts" in nothing.stderr


def test_what_follows_the_script_is_the_scripts(agent):
    helped = agent("hello-extended", "advanced_greeting", "--help")
    assert helped.stdout.startswith("usage: advanced_greeting")
    ran = agent("hello-extended", "advanced_greeting", "--language", "fr", "--time", "19:30", "--json")
    assert json.loads(ran.stdout)["greetings"] == ["Bonsoir, World"]
    assert ran.returncode == 0


def test_the_whole_answer_as_json(agent):
    ran = agent("--json", "hello-extended", "advanced_greeting", "--time", "09:00")
    answer = json.loads(ran.stdout)
    assert (answer["success"], answer["result"]) == (True, "Good morning, World\n")
    assert answer["meta"]["backend"] != "none"


def test_a_skill_that_is_not_trusted_runs_with_nothing_granted_and_it_is_said(agent, echo):
    ran = agent("--in", str(echo), "echo", "tell", "-x", "--", "y", ECHO_KEY="secret")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == [["-x", "--", "y"], False, False]
    assert "agent skill trust echo" in " ".join(ran.stderr.split())


def test_a_failure_is_words_on_stderr_and_an_exit_code(agent, echo):
    ran = agent("--in", str(echo), "echo", "fail")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "Script failed with exit code 3\nstderr: why\nmore" in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["nonsense"], 2, "'nonsense' not found"),
        (["hello-extended", "nonsense"], 2, "Script 'nonsense' not found in skill 'hello-extended'"),
        (["hello-extended", "../x"], 2, "Invalid script name"),
        (["hello-extended", "advanced_greeting", *["x"] * 101], 2, "Too many arguments"),
        (["hello-extended", "advanced_greeting", "--nope"], 1, "exit code 2"),
    ],
)
def test_what_cannot_be_run_is_said(agent, arguments, code, said):
    ran = agent(*arguments)
    assert ran.returncode == code
    assert said in " ".join(ran.stderr.split())
    assert json.loads(agent("--json", *arguments).stdout)["success"] is False
