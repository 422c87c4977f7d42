"""The commands of the pages about the agent do what they show."""

import re
import shlex
from pathlib import Path

import pytest
from openai_server import OpenAIServer, Say

DOCS = Path(__file__).parents[3] / "docs"
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def sessions(page: Path) -> list[tuple[list[str], str]]:
    """Each command of the page with the output it shows."""
    shown = []
    for block in BLOCK.findall(page.read_text("utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            shown.append((shlex.split(command), expected))
    return shown


@pytest.fixture
def no_selection(online: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `agent skill enable` stores counts where AGENT_SKILLS is not set; `online` sets it."""
    monkeypatch.delenv("AGENT_SKILLS")


@pytest.mark.parametrize("name", ["agent.md", "start/agent.md"])
@pytest.mark.usefixtures("no_selection")
def test_the_page_tells_the_truth(name: str, agent, home: Path, online: OpenAIServer, write_skill) -> None:
    write_skill("my-skill", into=home / "skills")
    found = sessions(DOCS / name)
    assert len(found) >= 5
    for command, expected in found:
        assert command[0] == "agent"
        if "-p" in command:
            online.replies = [Say(expected.strip())]
        done = agent(*command[1:])
        assert done.code == 0, done.stderr
        pattern = ".*".join(map(re.escape, expected.split("…")))
        assert re.fullmatch(pattern, done.stdout, re.DOTALL), (command, done.stdout)
