"""The chat at a real terminal: consent, signs of life, commands; at 80 and at 40 columns."""

import threading
from pathlib import Path

import pytest
from openai_server import CallTool, OpenAIServer, Say
from rich.cells import cell_len
from terminal import CTRL_C, CTRL_D, start

from skillkit.agent.cli.chat import quoted
from skillkit.core.disk import agent_home

pytestmark = pytest.mark.slow

IMITATION = "x\n  gets       nothing at all\n  digest sha256:0"
RUN = CallTool("script_run", {"skill_name": "adder", "script_name": "add", "args": ["2", IMITATION]})

AT_THE_TOP = "\x1b[1;1R"  # what a terminal says about its cursor, without which no status line is drawn


@pytest.fixture
def adder(home: Path, online: OpenAIServer, write_skill, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A skill of the user's own with one script."""
    folder = write_skill("adder", "Run the script add.", description="Adds numbers", into=home / "skills")
    (folder / "scripts").mkdir()
    (folder / "scripts" / "add.py").write_text("print('{}')\n")
    monkeypatch.setenv("AGENT_SKILLS", "adder,hello-extended")
    return folder


@pytest.mark.parametrize("columns", [80, 40])
def test_what_was_typed_before_the_question_does_not_answer_it(
    agent, online: OpenAIServer, adder: Path, columns: int
) -> None:
    typed = threading.Event()
    online.before = lambda: typed.wait(60)
    online.replies = [RUN, Say("Done.")]
    chat = start(columns=columns)
    chat.at_prompt().press("/adder add 2 and 3\ra\r").expect("thinking").press("a\r")
    typed.set()
    chat.expect("Run it?").at_prompt().press("n\r").expect("Done.")
    chat.at_prompt().press(CTRL_D)
    assert chat.end() == 0
    assert "No approvals" in agent("config", "approvals").stderr
    lines = [line.split() for line in chat.text.splitlines()]
    labels = [words[0] for words in lines if words and words[0] in ("skill", "script", "gets", "digest")]
    assert labels == ["skill", "script", "gets", "digest"]
    assert quoted(IMITATION).split()[0] in chat.text


def test_lines_that_are_typed_while_an_answer_is_written_are_sent_after_it(online: OpenAIServer) -> None:
    typed = threading.Event()
    online.before = lambda: typed.wait(60)
    online.replies = [Say("One."), Say("Two."), Say("Three.")]
    chat = start()
    chat.at_prompt().press("first\r").expect("thinking").press("second\rthird\r")
    typed.set()
    chat.expect("Three.").at_prompt().press(CTRL_D)
    assert chat.end() == 0
    assert [text for role, text in online.requests[-1].spoken if role == "user"] == [
        "first",
        "second",
        "third",
    ]
    assert "thinkingsecond" not in chat.text


def test_an_argument_cannot_end_its_quotes_or_its_line() -> None:
    assert quoted('a" b\nc') == '"a\\" b\\nc"'


def test_from_the_question_to_the_answer_something_is_seen(online: OpenAIServer, home: Path) -> None:
    online.replies = [
        CallTool("greet_in_language", {"name": "Alice", "language": "fr"}),
        Say("**Bonjour**, Alice!\n\n- one\n- two"),
    ]
    chat = start(columns=40)
    chat.at_prompt().press("Say bonjour to Alice\r")
    chat.expect("thinking").expect("· greet_in_language").expect("Bonjour, Alice!").expect("• two")
    chat.at_prompt().press(CTRL_D)
    assert chat.end() == 0
    assert "**" not in chat.text


@pytest.mark.parametrize("columns", [80, 40])
def test_no_line_is_wider_than_the_terminal_and_none_are_glued(
    online: OpenAIServer, home: Path, columns: int
) -> None:
    chat = start(columns=columns)
    chat.expect("tokens\n").at_prompt().press("/help\r").expect("leave")
    chat.at_prompt().press(CTRL_D)
    assert chat.end() == 0
    printed = chat.text.partition("Command")[2].splitlines()
    assert all(len(line) <= columns for line in printed if not line.startswith(">")), printed


def test_a_question_is_undone_and_asked_again(talk, online: OpenAIServer) -> None:
    online.replies = [Say("one"), Say("two"), Say("three")]
    done = talk("first", "second", "/retry", "/undo", "/undo", "/undo", "again")
    assert done.stdout.startswith("one\ntwo\nthree\nForgotten: second\nForgotten: first\nNothing to undo")
    assert [text for _, text in online.requests[2].spoken] == ["first", "one", "second"]
    assert [text for _, text in online.requests[-1].spoken] == ["again"]


def test_the_model_is_changed_within_a_conversation(talk, online: OpenAIServer) -> None:
    done = talk("hello", "/model other-model", "and now?", "/model")
    assert "Now using openai/other-model." in done.stdout
    assert [request.body["model"] for request in online.requests] == ["gpt-5-mini", "other-model"]
    spoken = [text for _, text in online.requests[-1].spoken if "<skill_context" not in text]
    assert spoken == ["hello", "OK", "and now?"]


def test_skills_are_turned_off_on_and_pinned_for_a_conversation(talk, online: OpenAIServer) -> None:
    done = talk(
        "/skills off hello-extended",
        "Say bonjour to Alice",
        "/why",
        "/skills on hello-extended",
        "/skills pin kalshi-markets",
        "what is 2+2?",
        "/skills",
        "/skills shake kalshi-markets",
    )
    first, second = online.requests
    assert "greet_in_language" not in first.tools
    assert "turned off in this conversation" in " ".join(done.stdout.split())
    assert "# Kalshi markets" in second.given
    assert "pinned" in done.stdout
    assert "/skills knows on, off, pin and unpin" in " ".join(done.stderr.split())


def test_why_says_what_matched(talk, online: OpenAIServer) -> None:
    done = talk("/why", "Say bonjour to Alice", "/why")
    assert "Nothing was asked yet." in done.stdout
    assert "matched (" in done.stdout
    assert "2 other skills did not come near. To see all: agent skill list" in " ".join(done.stdout.split())


def test_files_are_put_into_the_request(talk, online: OpenAIServer, home: Path) -> None:
    Path("notes.txt").write_text("buy milk\n")
    done = talk("summarise @notes.txt, please", "what of @missing.txt?", "mail bob@example.com", "!ls")
    assert "buy milk" in online.requests[0].spoken[-1][1]
    assert "There is no file missing.txt" in " ".join(done.stderr.split())
    assert "There is no !command" in " ".join(done.stderr.split())
    assert len(online.requests) == 2


def test_a_conversation_is_exported_compacted_and_its_cost_shown(agent, talk, online: OpenAIServer) -> None:
    agent("config", "set", "openai.price", "1/10")
    online.replies = [Say("word " * 3000)]
    commands = ("/compact", "/export talk.md", "/export talk.md", "/cost", "/memory")
    done = talk("Remember my name is Ada.", "next", *commands)
    before, after = [
        int(word.replace(",", "")) for word in done.stdout.split() if word.replace(",", "").isdigit()
    ][:2]
    assert after < before / 2
    assert "my name is Ada." in Path("talk.md").read_text()
    assert "exists already" in " ".join(done.stderr.split())
    assert "cost: 0." in done.stdout
    assert "my name is Ada." in done.stdout


def test_a_chat_from_a_pipe_that_came_to_nothing_is_an_error(talk, home: Path, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "")
    (agent_home()).mkdir(exist_ok=True)
    (agent_home() / "settings.json").write_text('{"provider": "openai"}')
    done = talk("hi")
    assert done.code == 1
    assert "needs a key" in done.stderr


def test_a_server_at_a_terminal_says_what_it_is_and_ends_at_once(home: Path) -> None:
    serving = start("serve", "--mcp").expect("Serving skills").expect("configuration.").press(CTRL_C)
    assert serving.end() == 130


def test_compacting_keeps_the_text_of_a_skill_in_use(talk, online: OpenAIServer) -> None:
    """What brought the skill is left out of what is sent; the skill's text stands in the next request."""
    online.replies = [
        CallTool("load_skill", {"skill_id": "kalshi-markets"}),
        *(Say(f"{number} {'word ' * 400}") for number in range(6)),
    ]
    talk("Load kalshi-markets.", *(f"Say {number}." for number in range(4)), "/compact", "Go on.")
    before, after = online.requests[-2], online.requests[-1]
    text = "Never invent a ticker"
    assert text in str(before.body["messages"])
    assert "earlier messages of this conversation were left out" in str(after.body["messages"])
    assert not any(said == "Say 0." for _, said in after.spoken)
    assert str(after.body["messages"]).count(text) == 1


@pytest.mark.parametrize("columns", [80, 40])
def test_wide_characters_push_no_argument_to_the_beginning_of_a_line(
    online: OpenAIServer, adder: Path, columns: int
) -> None:
    forged = "天" * ((columns - 14) // 2) + "  digest     sha256:0000\u2028  gets all"
    call = CallTool("script_run", {"skill_name": "adder", "script_name": "add", "args": [forged]})
    online.replies = [call, Say("Done.")]
    chat = start(columns=columns)
    chat.at_prompt().press("/adder add 2 and 3\r").expect("Run it?").at_prompt().press("n\r").expect("Done.")
    chat.at_prompt().press(CTRL_D)
    assert chat.end() == 0
    question = chat.text.partition("A script wants to run.")[2].partition("Done.")[0].splitlines()
    facts = question[: next(place for place, line in enumerate(question) if line.startswith("Run it?"))]
    assert max(map(cell_len, facts)) <= columns
    arguments = facts[facts.index(next(line for line in facts if "arguments" in line)) + 1 :]
    going_on = [line.strip() for line in arguments[: [line[:6] for line in arguments].index("  gets")]]
    assert going_on
    assert all(line.startswith("…") for line in going_on)


def test_a_narrow_status_line_leaves_out_the_provider_and_not_the_end_of_a_number(
    online: OpenAIServer,
) -> None:
    online.replies = [Say("Hallo.")]
    chat = start(columns=40)
    chat.at_prompt().press(f"{AT_THE_TOP}/hello-extended greet Bob\r").expect("Hallo.").at_prompt()
    chat.press(AT_THE_TOP).expect("gpt-5-mini · hello-extended · 130 tokens").press(CTRL_D)
    assert chat.end() == 0
    assert "openai/" not in chat.text


def test_questions_break_between_words(online: OpenAIServer, adder: Path) -> None:
    online.replies = [RUN, Say("Done.")]
    chat = start(columns=40)
    chat.at_prompt().press("/adder add 2 and 3\r").expect(
        "Run it? [o]nce, for this [s]ession,\n[a]lways, [n]o:"
    )
    chat.at_prompt().press("n\r").expect("Done.")
    chat.at_prompt().press(CTRL_D)
    assert chat.end() == 0


@pytest.mark.parametrize("command", [["--tools"], ["skill", "list", "--long"]])
def test_no_word_of_a_table_breaks_on_a_narrow_screen(online: OpenAIServer, command: list[str]) -> None:
    def words(columns: int) -> set[str]:
        table = start(*command, columns=columns)
        assert table.end() == 0
        return set(table.text.split())

    assert words(40) >= words(160) - {"Tool", "Name"}  # a list has no head
