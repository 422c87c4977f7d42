"""What the user's settings say about skills: pinned ones, files that are shown."""

import json
import os
from pathlib import Path

import pytest
from openai_server import CallTool, OpenAIServer, Say
from terminal import CTRL_D, Terminal

from skillkit.agent.journal import journal_path
from skillkit.journal import JournalReader

KEEP = CallTool("remember", {"fact": "The user lives in Oslo"})
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PAINT = f"""import base64, os, pathlib
pathlib.Path(os.environ["SKILL_OUTPUT_DIR"], "chart.png").write_bytes(base64.b64decode("{PICTURE}"))
print("painted")
"""


@pytest.fixture
def careful(home: Path, online: OpenAIServer, write_skill, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A skill that declares its tools, none of which is the program's."""
    folder = write_skill("careful", "Take care.", description="Be careful.", into=home / "skills")
    text = (folder / "SKILL.md").read_text().replace("---\n", "---\nallowed-tools: Read\n", 1)
    (folder / "SKILL.md").write_text(text)
    monkeypatch.setenv("AGENT_SKILLS", "careful")
    return folder


def test_a_pinned_skill_is_in_use_from_the_first_request_on(agent, online, careful: Path) -> None:
    agent("config", "set", "pinned", "careful")
    online.replies = [Say("Good morning.")]
    assert json.loads(agent("--json", "-p", "Good morning").stdout)["skills"] == ["careful"]
    assert any("Take care." in text for _, text in online.requests[-1].spoken)


def test_a_pinned_skill_that_is_not_there_is_said(agent, online, careful: Path) -> None:
    agent("config", "set", "pinned", "nobody,careful")
    online.replies = [Say("Good morning.")]
    said = agent("-p", "Good morning")
    assert (said.code, said.stdout) == (0, "Good morning.\n")
    assert "The skill 'nobody' of the setting 'pinned' is not in use" in said.stderr


@pytest.mark.parametrize("gate", ["asks", "hidden"])
def test_where_nobody_is_asked_a_tool_outside_is_refused(agent, online, careful: Path, gate: str) -> None:
    agent("config", "set", "gate", gate)
    online.replies = [KEEP, CallTool("load_skill", {"skill_id": "careful"}), KEEP, Say("Done.")]
    assert agent("-p", "Good morning").code == 0
    results = [text for role, text in online.requests[-1].spoken if role == "tool"]
    assert ["Kept." in result for result in results] == [True, False, False]
    listed = [tool["function"]["name"] for tool in online.requests[-1].body["tools"]]
    assert ("remember" in listed) is (gate == "asks")


def test_at_a_terminal_the_user_is_asked(agent, online: OpenAIServer, careful: Path) -> None:
    agent("config", "set", "gate", "asks")
    agent("config", "set", "pinned", "careful")
    online.replies = [KEEP, KEEP, Say("Done.")]
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    chat = Terminal(cwd=Path.cwd(), environment={**environment, "TERM": "xterm"}, columns=80)
    chat.at_prompt().press("Where do I live?\r")
    chat.expect("Call it?").at_prompt().press("y\r").expect("Call it?").at_prompt().press("\r").expect(
        "Done."
    )
    chat.at_prompt().press(CTRL_D)
    assert chat.end() == 0
    results = [text for role, text in online.requests[-1].spoken if role == "tool"]
    assert ["Kept." in result for result in results] == [True, False]
    kinds = [stored.event.kind.value for stored in JournalReader(journal_path()).events()]
    assert [kinds.count(f"script_{each}") for each in ("asked", "granted", "denied")] == [2, 1, 1]


def test_every_tool_of_the_program_says_what_it_is_for(agent, online: OpenAIServer, careful: Path) -> None:
    online.replies = [Say("Good morning.")]
    assert agent("-p", "Good morning").code == 0
    offered = {tool["function"]["name"]: tool["function"] for tool in online.requests[-1].body["tools"]}
    assert {"remember", "load_skill"} <= set(offered)
    assert [name for name, tool in offered.items() if not tool.get("description")] == []


def test_a_picture_is_sent_where_the_user_says_that_the_model_looks(
    agent, online: OpenAIServer, careful: Path
) -> None:
    (careful / "scripts").mkdir()
    (careful / "scripts" / "paint.py").write_text(PAINT)
    agent("config", "approve", "careful")
    run = CallTool("script_run", {"skill_name": "careful", "script_name": "paint"})
    sent = []
    for kinds in ("", "image/*"):
        agent("config", "set", "openai.shown_files", kinds)
        online.replies = [run, Say("Painted."), Say("As I said.")]
        assert agent("-p", "/careful paint").stdout == "Painted.\n"
        assert agent("--continue", "-p", "What is in it?").stdout == "As I said.\n"
        sent += [pictures(request.body["messages"]) for request in online.requests[-2:]]
    assert sent == [[], [], ["user"], ["user"]]
    first, again = (request.body["messages"] for request in online.requests[-2:])
    assert again[: len(first)] == first  # another process sends the same beginning


def pictures(messages: list[dict[str, object]]) -> list[object]:
    """Whose messages hold the picture."""
    return [message["role"] for message in messages if PICTURE in json.dumps(message)]
