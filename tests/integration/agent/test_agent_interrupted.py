"""Ctrl-C at a real terminal: in a chat it ends the answer, with -p the program; nothing is left half done."""

import json
import os
import threading
from pathlib import Path

import pytest
from openai_server import CallTool, OpenAIServer, Say
from terminal import CTRL_C, CTRL_D, Terminal, start

from skillkit.agent.conversations import STOPPED
from skillkit.agent.local.files import QWEN_CODER, ModelStore, cache_folder

MODELS = cache_folder()  # before the tests move the home folder
LONG = "Write a poem of twenty lines about the sea"
BUSY = 0.5
"""Seconds of computing after which a turn is surely under way, and surely not at its end."""
PAUSE = 2
"""The piece of an answer that the server holds back."""


@pytest.fixture
def slow(online: OpenAIServer) -> OpenAIServer:
    """Streams the beginning of its last told answer and waits for the end of the test with the rest."""
    held = threading.Event()

    def hold(number: int) -> None:
        if number == PAUSE and not online.replies:
            held.wait(300)

    online.between = hold
    yield online
    held.set()


def sessions(home: Path) -> list[dict]:
    """Every saved conversation; a file that is half written could not be read."""
    files = sorted((home / "sessions").glob("*")) if (home / "sessions").exists() else []
    return [json.loads(path.read_text()) for path in files]


def computed(program: Terminal) -> float:
    """The seconds that a program has used the processor."""
    fields = Path(f"/proc/{program.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_in_a_chat_it_ends_the_answer_and_the_conversation_goes_on(home: Path, slow: OpenAIServer) -> None:
    slow.replies = [Say("one two three four five")]
    chat = start()
    chat.at_prompt().press("count to five\r").expect("one two").press(CTRL_C).expect("Stopped.")
    slow.between = lambda number: None
    chat.at_prompt().press("what is 2+2?\r").expect("OK")
    chat.at_prompt().press(CTRL_D)
    assert chat.end() == 0
    assert "three" not in chat.text
    (saved,) = sessions(home)
    assert saved["title"] == "count to five"
    assert slow.requests[-1].spoken == [
        ("user", "count to five"),
        ("assistant", f"one two\n\n{STOPPED}"),
        ("user", "what is 2+2?"),
    ]


def test_what_was_done_before_it_is_kept(home: Path, slow: OpenAIServer) -> None:
    greet = CallTool("greet_in_language", {"name": "Alice", "language": "fr"})
    slow.replies = [greet, Say("one two three four five")]
    chat = start()
    chat.at_prompt().press("greet Alice in French\r").expect("one two").press(CTRL_C).expect("Stopped.")
    slow.between = lambda number: None
    chat.at_prompt().press("and now?\r").expect("OK")
    chat.at_prompt().press(CTRL_D)
    assert chat.end() == 0
    (saved,) = sessions(home)
    assert saved["title"] == "greet Alice in French"
    roles = [role for role, _ in slow.requests[-1].spoken]
    assert roles == ["user", "user", "assistant", "tool", "assistant", "user"]  # the second is a skill
    assert "Bonjour, Alice" in slow.requests[-1].spoken[3][1]
    assert slow.requests[-1].spoken[4][1] == f"one two\n\n{STOPPED}"


@pytest.fixture
def waiter(home: Path, online: OpenAIServer, write_skill, monkeypatch: pytest.MonkeyPatch) -> OpenAIServer:
    """A model that wants to run a script that never ends, of a skill of the user's own."""
    folder = write_skill("waiter", "Run the script wait.", description="Waits", into=home / "skills")
    (folder / "scripts").mkdir()
    script = "import time\nprint('begun', flush=True)\nwhile True: time.sleep(9)\n"
    (folder / "scripts" / "wait.py").write_text(script)
    monkeypatch.setenv("AGENT_SKILLS", "waiter")
    online.replies = [CallTool("script_run", {"skill_name": "waiter", "script_name": "wait"})]
    return online


def test_at_a_question_it_ends_the_answer_and_ctrl_d_says_no(waiter: OpenAIServer) -> None:
    waiter.replies *= 2
    chat = start()
    chat.at_prompt().press("/waiter go\r").expect("Run it?").at_prompt().press(CTRL_C).expect("Stopped.")
    assert len(waiter.requests) == 1, "the model is not asked to go on"
    chat.at_prompt().press("again\r").expect("Run it?").at_prompt().press(CTRL_D).expect("OK")
    chat.at_prompt().press(CTRL_D)
    assert chat.end() == 0


def test_after_a_question_it_still_ends_the_answer(waiter: OpenAIServer) -> None:
    chat = start()
    chat.at_prompt().press("/waiter go\r").expect("Run it?").at_prompt().press("o\r").expect("begun")
    chat.press(CTRL_C).expect("Stopped.").at_prompt().press(CTRL_D)
    assert chat.end() == 0
    assert len(waiter.requests) == 1, "the script that it ended is no result to go on with"


def test_at_the_prompt_it_does_nothing(home: Path, online: OpenAIServer) -> None:
    chat = start()
    chat.at_prompt().press(f"half a thought{CTRL_C}")
    chat.at_prompt().press("2+2\r").expect("OK")
    chat.at_prompt().press(CTRL_D)
    assert chat.end() == 0
    assert [text for _, text in online.requests[-1].spoken] == ["2+2"]


def test_with_p_it_ends_the_program_and_what_came_is_kept(home: Path, slow: OpenAIServer) -> None:
    slow.replies = [Say("one two three four five")]
    program = start("-p", "count to five").expect("one two").press(CTRL_C)
    assert program.end() == 130
    assert "three" not in program.text
    (saved,) = sessions(home)
    assert STOPPED in json.dumps(saved["messages"])


@pytest.mark.model
@pytest.mark.xdist_group("embedded-model")
@pytest.mark.skipif(
    not ModelStore(MODELS).installed(QWEN_CODER) or not Path("/proc/self/stat").exists(),
    reason="the model is not there (agent model install), or no /proc",
)
class TestTheEmbeddedModel:
    @pytest.fixture(autouse=True)
    def model(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """With the prompts that it has processed before, so that it answers soon."""
        monkeypatch.setenv("XDG_CACHE_HOME", str(MODELS.parents[1]))

    def test_in_a_chat_it_stops_writing_and_answers_the_next(self, home: Path) -> None:
        chat = start("--provider", "local", patience=180)
        chat.at_prompt().press("What is 2+2?\r").expect("4")
        chat.at_prompt()
        idle = computed(chat)
        chat.press(f"{LONG}\r")
        while computed(chat) < idle + BUSY:
            threading.Event().wait(0.02)
        chat.press(CTRL_C).expect("Stopped.")
        chat.at_prompt().press("What is 3+3?\r").expect("6")
        chat.at_prompt().press(CTRL_D)
        assert chat.end() == 0
        (saved,) = sessions(home)
        assert STOPPED in json.dumps(saved["messages"])
        assert saved["title"] == "What is 2+2?"

    def test_with_p_it_ends_the_program(self, home: Path) -> None:
        program = start("--provider", "local", "-p", LONG, patience=180)
        program.expect("⠹ Thinking").press(CTRL_C)
        assert program.end() == 130, program.text
