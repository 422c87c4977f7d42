"""What disclosure adds to a request, in time and in tokens, by the size of the library.

python3 dev.py bench disclosure [SIZES…] [--record]
"""

import asyncio
import sys
import tempfile
from itertools import count
from pathlib import Path

from benchmarks.measure import duration, record, spread, table
from skillkit import SkillManager
from skillkit.disclosure import SkillContextProvider, SkillSession, cost_report
from skillkit.matching import SkillMatcher

HEADER = """---
name: {name}
description: Extracts text and tables from documents of kind {number}, fills in forms and merges files. Use it
  for work with such documents or when the user mentions forms of kind {number}.
triggers: [document{number}]
---
"""
BODY = "# {name}\n\n" + "A line of instructions, as they stand in real skills, with a reason for it.\n" * 80
GREETING = "How are you today, and what did you have for breakfast?"


def main(sizes: list[int], *, recording: bool = False) -> None:
    times, tokens, recorded = [], [], []
    for size in sizes:
        with tempfile.TemporaryDirectory() as scratch:
            manager = library(Path(scratch), size)
            provider = SkillContextProvider(manager, matcher=SkillMatcher(mode="lexical"))
            provider.prepare()
            times.append([f"{size:,}", *times_of(provider)])
            numbers = tokens_of(provider, manager)
            recorded.append({"skills": size, **numbers})
            cells = [f"{number:,}" for number in numbers.values()]
            saved = 1 - numbers["no skill fits"] / numbers["static injection"]
            tokens.append([f"{size:,}", *cells, f"{saved:.1%}"])
    table(
        "A request after the first, lexical matching (median / 95th percentile)",
        ["skills", "no skill fits", "the same request again", "one skill fits", "load_skill again"],
        times,
    )
    table(
        "Tokens of a request",
        ["skills", "catalogue", "tools", "no skill fits", "one skill fits", "static injection", "saved"],
        tokens,
    )
    if recording:
        record("disclosure", {"unit": "tokens of a request", "libraries": recorded})


def library(root: Path, size: int) -> SkillManager:
    for number in range(size):
        name = f"skill-{number:05d}"
        (root / name).mkdir(parents=True)
        text = HEADER.format(name=name, number=number) + BODY.format(name=name)
        (root / name / "SKILL.md").write_text(text, encoding="utf-8")
    manager = SkillManager(project_skill_dir=root, max_folders=size + 1)
    manager.discover()
    return manager


def times_of(provider: SkillContextProvider) -> list[str]:
    numbers = count()
    quiet, busy = SkillSession(), SkillSession()
    provider.disclose("Please read document0", busy)
    load = provider.tools(busy)[0]
    loop = asyncio.new_event_loop()
    actions = [
        lambda: provider.disclose(GREETING + "!" * next(numbers), quiet),
        lambda: provider.disclose(GREETING, quiet),
        lambda: provider.disclose("Please read document0" + "!" * next(numbers), busy),
        lambda: loop.run_until_complete(load.call({"skill_id": "skill-00000"})),
    ]
    cells = [" / ".join(duration(seconds) for seconds in spread(action, count=100)) for action in actions]
    loop.close()
    return cells


def tokens_of(provider: SkillContextProvider, manager: SkillManager) -> dict[str, int]:
    without = provider.disclose(GREETING, SkillSession()).tokens
    with_skill = provider.disclose("Please read document0", SkillSession()).tokens
    return {
        "catalogue": without.catalogue,
        "tools": without.tools,
        "no skill fits": without.total,
        "one skill fits": with_skill.total,
        "static injection": cost_report(manager).static,
    }


if __name__ == "__main__":
    sizes = [int(size) for size in sys.argv[1:] if size != "--record"]
    main(sizes or [10, 100, 1000], recording="--record" in sys.argv)
