"""`agent -p` where stdout and stderr meet, or where nobody takes the answer."""

import subprocess
import sys
from pathlib import Path

import pytest
from openai_server import CallTool, Fail, OpenAIServer, Say
from program import clean_environment

AGENT = f"{sys.executable} -c 'from skillkit.agent.cli import main; main()'"


def shell(line: str, folder: Path, server: OpenAIServer, **more: str) -> subprocess.CompletedProcess[str]:
    environment = clean_environment(folder, OPENAI_API_KEY="k", OPENAI_BASE_URL=server.url, **more)
    return subprocess.run(
        ["/bin/bash", "-c", line.replace("agent", AGENT, 1)],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_warning_is_not_glued_to_the_answer(tmp_path: Path) -> None:
    with OpenAIServer() as server:
        server.replies = [Say("The answer.")]
        done = shell("agent -p hi 2>&1", tmp_path, server, AGENT_HOME="/proc/nope")
    answer, warning = done.stdout.splitlines()
    assert answer == "The answer."
    assert warning.startswith("The conversation could not be saved")


def test_a_remark_within_an_answer_stands_on_a_line_of_its_own(tmp_path: Path) -> None:
    with OpenAIServer() as server:
        server.replies = [CallTool("hello_world", {}), Fail(429, "slow down"), Say("Hello!")]
        mixed = shell("agent -p hi 2>&1", tmp_path, server)
        server.replies = [CallTool("hello_world", {}), Fail(429, "slow down"), Say("Hello!")]
        apart = shell("agent -p hi", tmp_path, server)
    assert mixed.stdout.splitlines()[-1] == "Hello!"
    assert apart.stdout == "Hello!\n"


@pytest.mark.parametrize("option", ["", "--stream-json", "--json"])
@pytest.mark.parametrize("reader", ["| true", "> /dev/full"])
def test_an_answer_that_nobody_takes_ends_without_a_traceback(
    tmp_path: Path, reader: str, option: str
) -> None:
    with OpenAIServer() as server:
        server.replies = [Say("one two three four five six seven eight")]
        done = shell(f"agent {option} -p hi {reader}", tmp_path, server)
    assert "Traceback" not in done.stderr
    assert "asynchronous generator" not in done.stderr
    assert len(done.stderr.splitlines()) <= 1, done.stderr
