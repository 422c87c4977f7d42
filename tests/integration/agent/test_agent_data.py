"""`-p` for programs: pipes, JSON documents, events; and what is no request."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from openai_server import CallTool, OpenAIServer, Say

PROGRAM = "from skillkit.agent.cli import main; main()"
GREET = CallTool("greet_in_language", {"name": "Alice", "language": "fr"})


def run(*arguments: str, stdin: str | None = None, shell: str = "") -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", PROGRAM, *arguments]
    if shell:
        command = ["/bin/sh", "-c", f'exec "$@" {shell}', "sh", *command]
    given = {"input": stdin} if stdin is not None else {"stdin": subprocess.DEVNULL}
    return subprocess.run(command, capture_output=True, text=True, check=False, **given)


@pytest.mark.parametrize(
    ("text", "sent"),
    [("Explain this error", "Explain this error\n\nE42: no disk\n"), ("-", "E42: no disk\n")],
)
def test_what_is_piped_in_is_part_of_the_request(online: OpenAIServer, text: str, sent: str) -> None:
    done = run("-p", text, stdin="E42: no disk\n")
    assert (done.returncode, done.stdout) == (0, "OK\n"), done.stderr
    assert online.requests[-1].spoken == [("user", sent)]


@pytest.mark.parametrize("text", ["", "  ", "-"])
def test_nothing_is_no_request(online: OpenAIServer, text: str) -> None:
    done = run("-p", text)
    assert done.returncode == 2
    assert "nothing to answer" in done.stderr
    assert online.requests == []


def test_a_question_without_the_option_is_told_how(agent, online: OpenAIServer) -> None:
    done = agent("What is 2+2?")
    assert done.code == 2
    assert "agent -p 'What is 2+2?'" in done.stderr
    assert online.requests == []


def test_one_document_has_the_answer_and_how_it_came_about(agent, online: OpenAIServer) -> None:
    agent("config", "set", "openai.price", "1/10")
    online.replies = [GREET, Say("Bonjour, Alice !")]
    done = agent("--json", "-p", "Say bonjour to Alice")
    document = json.loads(done.stdout)
    assert done.code == 0
    assert document["answer"] == "Bonjour, Alice !"
    assert (document["complete"], document["error"], document["version"]) == (True, None, 1)
    assert document["skills"] == ["hello-extended"]
    [call] = document["tool_calls"]
    assert (call["name"], call["arguments"]) == (GREET.name, GREET.arguments)
    assert "Bonjour" in call["result"]
    assert document["tokens"] == {"read": 246, "written": 14, "estimated": False}
    assert document["cost"] == pytest.approx((246 + 140) / 1e6)
    assert (document["provider"], document["model"]) == ("openai", "gpt-5-mini")
    assert json.loads(agent("session", "list", "--json").stdout)[0]["id"] == document["session"]


def test_the_document_of_half_an_answer_says_so(agent, online: OpenAIServer) -> None:
    online.replies = [Say("half", finish="length")]
    done = agent("--json", "-p", "Hello")
    document = json.loads(done.stdout)
    assert done.code == 5
    assert (document["answer"], document["complete"]) == ("half", False)
    assert "output limit" in document["error"]


def test_events_come_as_lines_while_they_happen(agent, online: OpenAIServer) -> None:
    online.replies = [GREET, Say("Bonjour, Alice !")]
    done = agent("--stream-json", "-p", "Say bonjour to Alice")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    kinds = [event["type"] for event in events if event["type"] != "activity"]
    assert kinds[0] == "start"
    assert kinds[-1] == "end"
    assert [kind for kind in kinds if kind in ("skills", "tool_call")] == ["skills", "tool_call"]
    assert "".join(event["text"] for event in events if event["type"] == "text") == events[-1]["answer"]
    assert any(event["text"].startswith("running greet_in_language") for event in events if "text" in event)
    assert events[0]["session"] == events[-1]["session"]


@pytest.mark.parametrize("arguments", [["--json"], ["--stream-json"]])
def test_data_without_a_request_is_a_usage_error(agent, home, arguments: list[str]) -> None:
    assert agent(*arguments).code == 2


def test_an_error_before_the_first_event_is_an_event_too(agent, online, monkeypatch) -> None:
    monkeypatch.setenv("AGENT_SKILLS", "all,kalshi-markets")
    done = agent("--stream-json", "-p", "Hello")
    end = json.loads(done.stdout)
    assert (done.code, end["type"], end["complete"]) == (1, "end", False)
    assert "'all' must be the only value" in end["error"]


def test_a_reader_that_has_seen_enough_is_no_failure(online: OpenAIServer) -> None:
    online.replies = [Say("word " * 50_000)]
    command = [sys.executable, "-c", PROGRAM, "-p", "hi"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        assert program.stdout.read(4) == b"word"
        program.stdout.close()
        assert program.wait(60) == 0


@pytest.mark.parametrize("options", [[], ["--provider", "openai", "-v"]])
def test_a_question_without_p_leads_to_it_and_keeps_the_options(agent, home, options: list[str]) -> None:
    done = agent(*options, "What is", "2+2?")
    assert done.code == 2
    assert " ".join(["agent", *options, "-p 'What is 2+2?'"]) in done.stderr


@pytest.mark.parametrize(("arguments", "closed"), [([], "<&-"), (["-p", "hi"], ">&-"), (["-p", "hi"], "<&-")])
def test_a_closed_stream_is_no_traceback(online: OpenAIServer, arguments: list[str], closed: str) -> None:
    done = run(*arguments, shell=closed)
    assert "Traceback" not in done.stderr
    assert done.returncode == 0


def test_what_the_agent_keeps_is_for_the_user_alone(agent, online: OpenAIServer, home: Path) -> None:
    home.mkdir(mode=0o755)
    agent("-p", "Remember my name is Ada.")
    modes = {path.name: os.stat(path).st_mode & 0o777 for path in (home, home / "memory.db")}
    assert modes == {home.name: 0o700, "memory.db": 0o600}
