"""What skills add to a run of Agent Framework: its own feature, ours, and its own on our catalogue.

python3 dev.py bench frameworks [RUNS] [SKILLS …]
"""

import asyncio
import os
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


async def measure(name: str, provider: Any, runs: int) -> list[str]:
    client = Answering()
    agent: Agent[Any] = Agent(client, context_providers=[provider] if provider is not None else [])
    session = agent.create_session()
    started = perf_counter()
    await agent.run(REQUEST, session=session)
    first = perf_counter() - started
    times, busy = [], []
    for _ in range(runs):
        session = agent.create_session()
        started, used = perf_counter(), process_time()
        await agent.run(REQUEST, session=session)
        times.append(perf_counter() - started)
        busy.append(process_time() - used)
    row = [name, duration(first), duration(min(times)), duration(statistics.median(times))]
    return [*row, duration(statistics.median(busy)), f"{client.instructions:,}"]


async def compare(folder: Path, skills: int, runs: int) -> None:
    manager = SkillManager(project_skill_dir=folder, anthropic_config_dir="")
    candidates: dict[str, Any] = {
        "no skills": None,
        "SkillsProvider of the framework": SkillsProvider.from_paths(folder),
        "SkillsContextProvider of skillkit": SkillsContextProvider(manager),
        "SkillsProvider on SkillKitSource": SkillsProvider(SkillKitSource(manager)),
    }
    rows = [await measure(name, provider, runs) for name, provider in candidates.items()]
    header = ["", "first run", "best run", "median run", "processor, median", "characters of instructions"]
    table(f"{skills:,} skills, {runs} runs, load {os.getloadavg()[0]:.1f}", header, rows)


def main(runs: int, sizes: list[int]) -> None:
    warnings.simplefilter("ignore")
    for skills in sizes:
        with tempfile.TemporaryDirectory() as scratch:
            write_skills(Path(scratch), skills)
            asyncio.run(compare(Path(scratch), skills, runs))


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    main(given[0] if given else 100, given[1:] or [100, 1000])
