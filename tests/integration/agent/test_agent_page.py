"""The commands of docs/agent.md do what the page shows."""

import re
import shlex
from pathlib import Path

from openai_server import OpenAIServer, Say

PAGE = Path(__file__).parents[3] / "docs" / "agent.md"
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def sessions() -> list[tuple[list[str], str]]:
    """Each command of the page with the output it shows."""
    shown = []
    for block in BLOCK.findall(PAGE.read_text("utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            shown.append((shlex.split(command), expected))
    return shown


def test_the_page_tells_the_truth(agent, home: Path, online: OpenAIServer, write_skill) -> None:
    write_skill("my-skill", into=home / "skills")
    found = sessions()
    assert len(found) >= 8
    for command, expected in found:
        assert command[0] == "agent"
        if "-p" in command:
            online.replies = [Say(expected.strip())]
        done = agent(*command[1:])
        assert done.code == 0, done.stderr
        pattern = ".*".join(map(re.escape, expected.split("…")))
        assert re.fullmatch(pattern, done.stdout, re.DOTALL), (command, done.stdout)
