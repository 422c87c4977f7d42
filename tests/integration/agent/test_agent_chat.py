"""Talking to the agent: commands, streaming, several lines, completion, and a Ctrl-C that ends one answer."""

import json
import os
import pty
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from openai_server import CallTool, Fail, OpenAIServer, Say
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from skillkit.agent.cli.terminal import RequestCompleter, Terminal
from skillkit.agent.conversations import ConversationStore

READY, WHERE = "\x1b[?2004h", "\x1b[6n"  # the prompt takes keys; it asks where the cursor is
PROGRAM = "from skillkit.agent.cli import main; main()"


def test_a_conversation_goes_on_from_line_to_line(talk, online: OpenAIServer) -> None:
    online.replies = [Say("Hello there."), Say("You said hi.")]
    done = talk("hi", "", "what did I say?", "/exit", "never sent")
    assert done.stdout == "Hello there.\nYou said hi.\n"
    assert [text for _, text in online.requests[-1].spoken] == ["hi", "Hello there.", "what did I say?"]
    assert len(online.requests) == 2


def test_commands_are_carried_out_here(talk, online: OpenAIServer) -> None:
    done = talk("/help", "/skills", "/hello-extended Bob in Dutch", "/skills", "/cost", "/nonsense")
    assert "start a new conversation" in done.stdout
    assert "in use" in done.stdout
    assert "1 model request, 123 tokens read, 7 written" in done.stdout
    assert "There is no command or skill /nonsense" in done.stderr
    assert len(online.requests) == 1


def test_clear_and_continue(talk, online: OpenAIServer) -> None:
    talk("the number is 4711")
    done = talk("something else", "/clear", "fresh", "/continue", "more", f"/continue {'x' * 8}")
    assert "Started a new conversation." in done.stdout
    assert "Continuing: fresh" in done.stdout
    assert [text for _, text in online.requests[-1].spoken] == ["fresh", "OK", "more"]
    assert "No conversation has the id" in done.stderr


def test_an_error_ends_the_turn_and_not_the_chat(talk, online: OpenAIServer) -> None:
    from openai_server import Fail

    online.replies = [Fail(401), Say("Better.")]
    done = talk("one", "two")
    assert done.stdout == "Better.\n"
    assert "refused the key" in done.stderr


def test_what_steers_a_terminal_is_not_printed(talk, online: OpenAIServer) -> None:
    online.replies = [Say("red \x1b[31m alert \x07 end")]
    assert talk("hi").stdout == "red [31m alert  end\n"


def test_without_skills_the_list_says_how_to_choose_some(talk, online, monkeypatch) -> None:
    monkeypatch.setenv("AGENT_SKILLS", "none")
    assert "No skill is active. To enable: export AGENT_SKILLS=hello-extended\n" in talk("/skills").stdout


def test_tools_are_listed_with_when_they_are_offered(agent, online: OpenAIServer) -> None:
    shown = agent("--tools").stdout
    when = {line.split()[0]: " ".join(line.split()[1:]) for line in shown.splitlines() if line[:1].strip()}
    assert when["load_skill"].startswith("always")
    assert when["greet_multiple"].startswith("with hello-extended")
    assert when["script_run"].startswith("always")
    agent("-p", "What is 2+2?")
    (request,) = online.requests
    assert set(request.tools) == {
        name for name, text in when.items() if text.startswith(("always", "no skill"))
    }


def test_tools_are_data_for_programs(agent, online: OpenAIServer) -> None:
    listed = {tool["name"]: tool for tool in json.loads(agent("--tools", "--json").stdout)["tools"]}
    assert listed["load_skill"]["when"] == "always"
    assert listed["greet_multiple"]["when"] == "with hello-extended"
    assert set(listed["greet_multiple"]["parameters"]["properties"]) == {"names", "language"}


def test_ctrl_c_ends_the_answer_and_not_the_program(home, online: OpenAIServer) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def hold_the_first() -> None:
        if len(online.requests) == 1:
            asked.set()
            go_on.wait(300)

    online.before = hold_the_first
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdin is not None
        assert program.stderr is not None
        program.stdin.write("first\n")
        program.stdin.flush()
        assert asked.wait(300)
        program.send_signal(signal.SIGINT)
        assert any("Stopped." in line for line in program.stderr)
        go_on.set()
        out, _ = program.communicate("second\n", timeout=300)
    assert program.returncode == 0
    assert out == "OK\n"
    assert ConversationStore().load().title == "first"
    assert [role for role, _ in online.requests[-1].spoken] == ["user", "assistant", "user"]


async def test_several_lines_history_and_an_answer_to_a_question(home) -> None:
    with create_pipe_input() as keys:
        terminal = Terminal(lambda: ["/help"], lambda: "status", keys, DummyOutput())
        keys.send_text("one\x1b\rtwo\r")
        assert await terminal.read() == "one\ntwo"
        keys.send_text("\x1b[A\r")
        assert await terminal.read() == "one\ntwo"
        keys.send_text("always\r")
        assert await terminal.ask("Run it? ") == "always"
    assert (home / "history").exists()


def test_what_an_error_advises_can_be_typed_in_the_chat(talk, online: OpenAIServer) -> None:
    online.replies = [Fail(404, "no such model")]
    said = " ".join(talk("hello").stderr.split())
    assert "Choose another: /model NAME." in said


def test_completion_knows_commands_and_skills() -> None:
    completer = RequestCompleter(lambda: ["/help", "/hello-extended", "/cost"])
    found = completer.get_completions(Document("/he"), None)  # type: ignore[arg-type]
    assert [completion.text for completion in found] == ["/help", "/hello-extended"]
    assert list(completer.get_completions(Document("hello"), None)) == []  # type: ignore[arg-type]


def test_completion_knows_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("notes.md", "other.md"):
        Path(name).touch()
    completer = RequestCompleter(list)
    found = completer.get_completions(Document("Explain @no"), CompleteEvent())
    assert [completion.text for completion in found] == ["tes.md"]
    assert list(completer.get_completions(Document("ada@no"), CompleteEvent())) == []


def test_at_a_terminal_a_script_is_asked_about_and_a_status_line_shown(
    home, online: OpenAIServer, write_skill, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_skill("adder", "Run the script add.", description="Adds numbers", into=home / "skills")
    (folder / "scripts").mkdir()
    (folder / "scripts" / "add.py").write_text('print("{}")')
    monkeypatch.setenv("AGENT_SKILLS", "adder")
    monkeypatch.setenv("TERM", "xterm")
    run = CallTool("script_run", {"skill_name": "adder", "script_name": "add"})
    online.replies = [run, Say("finished.")]
    controller, terminal = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=terminal, stdout=terminal, stderr=terminal, close_fds=True
    ) as program:
        os.close(terminal)
        seen = Screen(controller)
        seen.until("Ctrl-D to leave")
        seen.until(READY)
        os.write(controller, b"/adder go\r")
        seen.until("[n]o:")
        os.write(controller, b"once\r")
        seen.until("finished.")
        seen.until(READY)
        os.write(controller, b"\x04")
        seen.until(None)
        program.wait()
    os.close(controller)
    assert "openai/" in seen.text
    assert "A script wants to run." in seen.text
    assert '"success": true' in online.requests[-1].spoken[-1][1]


class Screen:
    """What a program wrote to its terminal."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.text = ""
        self.read = 0

    def until(self, words: str | None) -> None:
        """Read until `words` appear; None reads to the end."""
        while words is None or words not in self.text[self.read :]:
            try:
                data = os.read(self.descriptor, 65536)
            except OSError:
                data = b""
            if not data:
                assert words is None, f"ended before {words!r}: {self.text[-2000:]}"
                return
            self.text += data.decode("utf-8", "replace")
            if WHERE in data.decode("utf-8", "replace"):
                os.write(self.descriptor, b"\x1b[1;1R")
        self.read = self.text.index(words, self.read) + len(words) if words else len(self.text)


def test_another_model_goes_on_with_the_tokens_and_switches_of_the_conversation(
    agent, talk, online: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", online.address)
    agent("config", "set", "openai.price", "10/10")
    agent("config", "set", "ollama.price", "0/0")
    done = talk("/skills off hello-extended", "hi", "/model ollama/test", "hi again", "/cost", "/skills")
    assert "2 model requests, 246 tokens read, 14 written" in done.stdout
    assert "cost: 0.0013" in done.stdout  # what the first was asked for has a price
    states = dict(line.split()[:2] for line in done.stdout.splitlines() if line.startswith(("hello-", "kal")))
    assert states["hello-extended"] == "off"
    assert states["kalshi-markets"] == "on"


def test_a_word_that_is_no_command_may_have_been_a_question(agent, home) -> None:
    done = agent("hello")
    assert done.code == 2
    assert "To ask the model: agent -p hello" in done.stderr
    assert "To ask the model" not in agent("skil").stderr
    assert "To ask the model" not in agent("skill", "nonsense").stderr
