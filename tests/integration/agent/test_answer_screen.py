"""How an answer appears at a terminal while it is written: all of it, in its form, without flicker."""

import re
import threading

import pytest
from openai_server import OpenAIServer, Say
from terminal import CTRL_D, Terminal, start

from skillkit.agent.cli.screen import DrawnLines

CODE = "\n".join(f"line_{number} = {number}" for number in range(120))
STEPS = """Steps:

1. First step:

   ```bash
   npm install
   ```

2. Second step

    - a point of the second step

Done."""


@pytest.fixture
def chat(online: OpenAIServer) -> Terminal:
    return start()


def test_a_long_block_is_seen_to_its_end_and_not_drawn_again_and_again(
    chat: Terminal, online: OpenAIServer
) -> None:
    shown = threading.Event()
    pieces = f"```python\n{CODE}\n\n".count(" ")
    online.between = lambda number: shown.wait(60) if number == pieces else None
    online.replies = [Say(f"```python\n{CODE}\n\nlast = 1\n```")]
    chat.at_prompt().press("Show me\r").expect("line_119")
    shown.set()
    chat.at_prompt().press(CTRL_D)
    assert chat.end() == 0
    assert len(re.findall(r"line_7 = 7\b", chat.text)) == 1
    assert len(chat.raw) < 40_000, "about ten times the text: colours, and what changed"


def test_a_block_without_end_is_drawn_in_parts_and_stays_code(chat: Terminal, online: OpenAIServer) -> None:
    lines = [f"    value_{number}  =  {number}" for number in range(1_500)]
    online.replies = [Say("\n".join(["```python", *lines, "```", "", "Done."]))]
    chat.at_prompt().press("Show me\r").expect("value_1499").expect("Done.")
    chat.at_prompt().press(CTRL_D)
    assert chat.end() == 0
    shown = dict.fromkeys(re.findall(r"^ {5,}(value_\d+  =  \d+)", chat.text, re.MULTILINE))
    whole = [line for line in shown if line.split("_")[1].split()[0] == line.split()[-1]]
    assert whole == [line.strip() for line in lines], "set in and spaced as code is"


def test_what_belongs_to_a_point_of_a_list_is_no_code(chat: Terminal, online: OpenAIServer) -> None:
    online.replies = [Say(STEPS)]
    chat.at_prompt().press("Show me\r").expect("• a point of the second step").expect("Done.")
    chat.at_prompt().press(CTRL_D)
    assert chat.end() == 0


def test_words_are_shown_though_the_next_ones_wait(chat: Terminal, online: OpenAIServer) -> None:
    shown = threading.Event()
    online.between = lambda number: shown.wait(60) if number == 8 else None
    online.replies = [Say("one two three four five six seven eight nine ten")]
    chat.at_prompt().press("Count\r").expect("one two three four five six")
    shown.set()
    chat.expect("nine ten").at_prompt().press(CTRL_D)
    assert chat.end() == 0


def test_a_conversation_that_goes_on_shows_where_it_was_left(agent, online: OpenAIServer) -> None:
    online.replies = [Say("The **first** answer."), Say("The **second** answer.")]
    agent("-p", "first question")
    agent("--continue", "-p", "second question")
    chat = start("--continue").expect("> second question").expect("The second answer.")
    chat.at_prompt().press(CTRL_D)
    assert chat.end() == 0
    assert "The first answer." not in chat.text


def test_only_what_differs_is_written() -> None:
    from io import StringIO

    from rich.console import Console

    screen = StringIO()
    drawn = DrawnLines(Console(file=screen, force_terminal=True, width=20, height=5, color_system=None))
    for text in ("one", "one two", "one two\nthree", "one two\nthird", "one two\nthird"):
        drawn.draw(text)
    drawn.keep()
    assert screen.getvalue() == "one two\nthree\r\x1b[Jthird\n"
    screen.truncate(screen.seek(0))
    drawn.draw("a\nb\nc")
    drawn.draw("a\nB\nc")
    drawn.clear()
    assert screen.getvalue() == "a\nb\nc\r\x1b[1A\x1b[JB\nc\r\x1b[2A\x1b[J"
