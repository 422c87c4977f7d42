"""Conversations outlive programs: whole after a kill, shared by ten, continued, exported, deleted."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from openai_server import CallTool, OpenAIServer, Say

from skillkit.agent.conversations import ConversationStore
from skillkit.agent.memory import Memory

PROGRAM = "from skillkit.agent.cli import main; main()"


def start(*arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_killed_in_the_middle_of_a_turn_the_conversation_keeps_every_finished_step(
    agent, online: OpenAIServer
) -> None:
    third_request = threading.Event()
    kill_now = threading.Event()

    def hold_the_third() -> None:
        if len(online.requests) == 3:
            third_request.set()
            kill_now.wait(300)

    online.before = hold_the_third
    greet = CallTool("greet_in_language", {"name": "Alice", "language": "fr"})
    online.replies = [greet, CallTool("list_languages", {}), Say("never said")]
    with start("-p", "Greet Alice, then list the languages") as program:
        assert third_request.wait(300)
        os.kill(program.pid, signal.SIGKILL)
        program.wait()
    kill_now.set()
    (kept,) = ConversationStore().all()
    calls = [part["name"] for message in kept.messages for part in message["contents"] if "name" in part]
    assert calls == ["greet_in_language", "list_languages"]
    assert kept.state["skills"]["active"][0]["skill_id"] == "hello-extended"

    online.before = lambda: None
    done = agent("--continue", kept.id, "-p", "Go on")
    assert (done.code, done.stdout) == (0, "OK\n")
    sent = online.requests[-1].body["messages"]
    called = {call["id"] for message in sent for call in message.get("tool_calls") or ()}
    answered = {message["tool_call_id"] for message in sent if message["role"] == "tool"}
    assert called == answered == {"call_greet_in_language", "call_list_languages"}
    assert "Swahili" in online.requests[-1].spoken[-2][1]


def test_ten_programs_at_once_lose_nothing(online: OpenAIServer) -> None:
    programs = [start("-p", f"Remember my lucky number {number} is {number}") for number in range(10)]
    for program in programs:
        out, err = program.communicate(timeout=300)
        assert (program.returncode, out) == (0, "OK\n"), err
    titles = {conversation.title for conversation in ConversationStore().all()}
    assert titles == {f"Remember my lucky number {number} is {number}" for number in range(10)}
    assert len(Memory().all()) == 10


def test_sessions_are_listed_exported_and_deleted(agent, online: OpenAIServer, tmp_path: Path) -> None:
    online.replies = [CallTool("list_languages", {}), Say("Many.")]
    agent("-p", "Greet people in which languages?")
    (entry,) = json.loads(agent("session", "list", "--json").stdout)
    assert entry["title"] == "Greet people in which languages?"
    assert entry["active_skills"] == ["hello-extended"]
    assert entry["id"] in agent("session", "list").stdout
    text = agent("session", "export", entry["id"]).stdout
    assert text.startswith("# Greet people in which languages?\n")
    assert "> called `list_languages`" in text
    assert "## Agent\n\nMany." in text
    agent("session", "export", entry["id"][:10], "--output", str(tmp_path / "talk.md"))
    assert (tmp_path / "talk.md").read_text() == text
    assert agent("session", "delete", entry["id"]).code == 0
    assert json.loads(agent("session", "list", "--json").stdout) == []
    assert "No conversation is saved" in agent("session", "list").stderr


@pytest.mark.parametrize("arguments", [("--continue", "-p", "x"), ("session", "export", "2026")])
def test_a_conversation_that_is_not_there_is_one_line(agent, online: OpenAIServer, arguments) -> None:
    done = agent(*arguments)
    assert done.code == 1
    assert done.stderr.startswith("Error: ")


def test_facts_are_remembered_across_conversations(agent, online: OpenAIServer) -> None:
    agent("-p", "Remember that my name is Alice")
    assert "Alice" not in online.requests[-1].system
    agent("-p", "What's my name?")
    assert "- my name is Alice" in online.requests[-1].system
    agent("-p", "Greet my colleague in French")
    assert "## Agent Skills" in online.requests[-1].system
    assert "hello-extended" in online.requests[-1].system
    (fact,) = json.loads(agent("memory", "list", "--json").stdout)
    assert json.loads(agent("memory", "search", "name", "--json").stdout) == [fact]
    assert agent("memory", "forget", str(fact["id"])).stdout == "Forgot 1 fact.\n"
    agent("-p", "What's my name?")
    assert "Alice" not in online.requests[-1].system


def test_a_model_can_remember_something(agent, online: OpenAIServer) -> None:
    online.replies = [CallTool("remember", {"fact": "The user lives in Oslo"}), Say("Noted.")]
    assert agent("-p", "I live in Oslo").stdout == "Noted.\n"
    assert [fact["text"] for fact in json.loads(agent("memory", "list", "--json").stdout)] == [
        "The user lives in Oslo"
    ]


def test_memory_can_be_switched_off(agent, online: OpenAIServer) -> None:
    agent("config", "set", "memory", "off")
    agent("-p", "Remember that my name is Alice")
    agent("-p", "What's my name?")
    assert "Alice" not in online.requests[-1].system
    assert "Nothing is remembered" in agent("memory", "list").stderr


def test_forgetting_needs_to_know_what(agent) -> None:
    assert agent("memory", "forget").code == 2
    assert agent("memory", "forget", "--all").stdout == "Forgot 0 facts.\n"
