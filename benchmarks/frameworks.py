"""What skills add to a run of Agent Framework: its own feature, ours, and its own on our catalogue.

python3 dev.py bench frameworks [RUNS] [SKILLS …]
"""

import asyncio
import os
import random
import statistics
import sys
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    Message,
    SkillsProvider,
)

from benchmarks.core import write_skills
from benchmarks.measure import duration, table
from skillkit import SkillManager
from skillkit.integrations.agent_framework import SkillKitSource, SkillsContextProvider

REQUEST = "Good morning, how are you?"


class Answering(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], BaseChatClient[Any]):
    """Answers at once, and notes how long the instructions were."""

    instructions = 0

    async def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Any, **kwargs: Any
    ) -> ChatResponse[Any]:
        self.instructions = len(options.get("instructions") or "")
        return ChatResponse(messages=[Message("assistant", [Content.from_text("Hello.")])])


class Candidate:
    """An agent with one way to have skills, and what its runs took."""

    def __init__(self, name: str, provider: Any) -> None:
        self.name = name
        self.client = Answering()
        self.agent: Agent[Any] = Agent(self.client, context_providers=[] if provider is None else [provider])
        self.times: list[float] = []
        self.busy: list[float] = []

    async def run(self) -> None:
        session = self.agent.create_session()
        started, used = perf_counter(), process_time()
        await self.agent.run(REQUEST, session=session)
        self.times.append(perf_counter() - started)
        self.busy.append(process_time() - used)

    def row(self, base: "Candidate") -> list[str]:
        first, *times = self.times
        _, *busy = self.busy
        ratio = statistics.median(busy) / statistics.median(base.busy[1:])
        row = [self.name, duration(first), duration(min(times)), duration(statistics.median(times))]
        return [*row, duration(statistics.median(busy)), f"{ratio:.2f}", f"{self.client.instructions:,}"]


async def compare(folder: Path, skills: int, runs: int) -> None:
    """Run the candidates in turns, so that whatever else the machine does meets all of them alike.

    Each round has an order of its own: who follows an agent without skills finds the processor's caches as
    they were, who follows a large prompt does not.
    """
    manager = SkillManager(project_skill_dir=folder, anthropic_config_dir="")
    own = Candidate("SkillsProvider of the framework", SkillsProvider.from_paths(folder))
    candidates = [
        Candidate("no skills", None),
        own,
        Candidate("SkillsContextProvider of skillkit", SkillsContextProvider(manager)),
        Candidate("SkillsProvider on SkillKitSource", SkillsProvider(SkillKitSource(manager))),
    ]
    order = random.Random(0)
    for _ in range(1 + runs):
        for candidate in order.sample(candidates, len(candidates)):
            await candidate.run()
    header = ["", "first run", "best run", "median run", "processor, median", "of the framework's own"]
    rows = [candidate.row(own) for candidate in candidates]
    title = f"{skills:,} skills, {runs} runs in turns, load {os.getloadavg()[0]:.1f}"
    table(title, [*header, "characters of instructions"], rows)


def main(runs: int, sizes: list[int]) -> None:
    warnings.simplefilter("ignore")
    for skills in sizes:
        with tempfile.TemporaryDirectory() as scratch:
            write_skills(Path(scratch), skills)
            asyncio.run(compare(Path(scratch), skills, runs))


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    main(given[0] if given else 100, given[1:] or [100, 1000])
