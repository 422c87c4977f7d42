"""Many conversations on one manager: do they stay apart, and does the event loop stay free?

python3 dev.py bench conversations [CONVERSATIONS] [TURNS] [SKILLS]
"""

import asyncio
import gc
import os
import statistics
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from benchmarks.core import write_skills
from benchmarks.measure import duration, table
from skillkit import SkillManager
from skillkit.disclosure import SkillContextProvider
from skillkit.integrations.conversation import Conversation
from skillkit.integrations.default_tools import default_provider

TICK = 0.001
ROUNDS = 3


def main(conversations: int, turns: int, skills: int) -> None:
    print(f"{conversations} conversations × {turns} turns, {skills:,} skills, {os.cpu_count()} processors,")
    mode = os.environ.get("SKILL_MATCHING_MODE", "default")
    print(f"load of the machine {os.getloadavg()[0]:.1f}, matching: {mode}")
    with tempfile.TemporaryDirectory() as scratch:
        write_skills(Path(scratch), skills)
        manager = SkillManager(project_skill_dir=scratch, anthropic_config_dir="")
        # What docs/integrations.md advises a server to do before its event loop runs.
        provider = default_provider(manager)
        gc.collect()
        gc.freeze()
        asyncio.run(converse(provider, conversations, turns))


async def converse(provider: SkillContextProvider, conversations: int, turns: int) -> None:
    idle = await stalls(asyncio.sleep(2))
    collections = collection_times()
    started = perf_counter()
    first = await stalls(Conversation(provider).adisclose("Extract the tables of a PDF file"))
    first_request = perf_counter() - started
    names = provider.get_skill_names()
    rounds = []
    for _ in range(ROUNDS):
        started = perf_counter()
        talks = [talk(Conversation(provider), number, turns, names) for number in range(conversations)]
        busy = await stalls(asyncio.gather(*talks))
        rounds.append((busy, perf_counter() - started))
    calls = conversations * turns * 3
    seconds = min(seconds for _, seconds in rounds)
    table(
        "The event loop while others work",
        ["phase", "longest stall", "p99", "median", "took"],
        [
            ["nothing else runs", *spread(idle), "2 s"],
            ["the first request: discovery, index, embedding", *spread(first), duration(first_request)],
            *([f"{calls:,} requests and tool calls", *spread(busy), duration(took)] for busy, took in rounds),
        ],
    )
    longest = duration(max(collections, default=0))
    print(f"\nLongest garbage collection meanwhile, which stops everything: {longest}")
    print(f"{calls / seconds:,.0f} requests and tool calls a second; no conversation saw another's skills.")


def collection_times() -> list[float]:
    """How long each run of the garbage collector takes from now on."""
    times: list[float] = []
    started = 0.0

    def note(phase: str, _: dict[str, int]) -> None:
        nonlocal started
        if phase == "start":
            started = perf_counter()
        else:
            times.append(perf_counter() - started)

    gc.callbacks.append(note)
    return times


async def talk(conversation: Conversation, number: int, turns: int, names: list[str]) -> None:
    """One conversation; it must know exactly the skills that it has asked for itself."""
    own = []
    for turn in range(turns):
        name = names[(number * turns + turn) % len(names)]
        disclosure = await conversation.adisclose(f"Hello, I am number {number}")
        arguments = {"skill_id": name, "arguments": f"for {number}"}
        text = (await conversation.call("load_skill", arguments)).text
        page = (await conversation.call("read_skill_resource", {"skill_id": name, "path": "SKILL.md"})).text
        own.append(name)
        assert f"Work on for {number}." in text, "another conversation's arguments"
        assert f"name: {name}" in page
        assert set(conversation.session.active_ids) == set(own), "another conversation's skills"
        assert set(disclosure.active) <= set(own)


async def stalls(work: object) -> list[float]:
    """How late a timer of a millisecond was, each time, while `work` went on."""
    late: list[float] = []
    running = asyncio.ensure_future(work)  # type: ignore[arg-type]
    while not running.done():
        before = perf_counter()
        await asyncio.sleep(TICK)
        late.append(perf_counter() - before - TICK)
    await running
    return late


def spread(late: list[float]) -> tuple[str, str, str]:
    ordered = sorted(late) or [0.0]
    return (
        duration(ordered[-1]),
        duration(ordered[int(0.99 * (len(ordered) - 1))]),
        duration(statistics.median(ordered)),
    )


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    main(*(given + [64, 5, 1000][len(given) :]))
