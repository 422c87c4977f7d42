"""Processor time of the program: `agent -p` beside the framework's bare call, and `agent skill add`."""

import os
import resource
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import duration, table

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

from openai_server import OpenAIServer

ROUNDS = 5
AGENT = [sys.executable, "-c", "from skillkit.agent.cli import main; main()"]
BARE = """
import asyncio
from agent_framework import Agent
from agent_framework.openai import OpenAIChatCompletionClient
client = OpenAIChatCompletionClient(model="test")
print(asyncio.run(Agent(client).run("What is 2+2?")).text)
"""
SKILL = "---\nname: given\ndescription: Adds columns of tables.\n---\n# Given\n\nAdd them.\n"


def processor_time(command: list[str], folder: Path, environment: dict[str, str]) -> float:
    """Seconds of user and system time of a process and its children, the best of several."""
    rounds = []
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        rounds.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return min(rounds)


def main() -> None:
    with TemporaryDirectory() as place, OpenAIServer() as server:
        folder = Path(place)
        (folder / "given").mkdir()
        (folder / "given" / "SKILL.md").write_text(SKILL)
        environment = {"HOME": place, "PATH": os.environ["PATH"], "OPENAI_API_KEY": "none"}
        environment |= {"OPENAI_BASE_URL": f"{server.address}/v1"}
        ask = [*AGENT, "--provider", "openai", "--model", "test", "-p", "What is 2+2?"]
        commands = {
            "the framework alone": [sys.executable, "-c", BARE],
            "agent -p": ask,
            "agent skill add ./given": [*AGENT, "skill", "add", "./given", "--trusted"],
        }
        taken = {name: processor_time(command, folder, environment) for name, command in commands.items()}
    table(
        f"Processor time, best of {ROUNDS}",
        ("command", "time"),
        [(name, duration(seconds)) for name, seconds in taken.items()],
    )


if __name__ == "__main__":
    main()
