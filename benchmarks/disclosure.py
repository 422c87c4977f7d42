"""What disclosure adds to a request, in time and in tokens, by the size of the library.

python3 dev.py bench disclosure [SIZES…] [--record]

Where the corpus of real skills is at hand (beside what SKILLKIT_MATCHING_DATA names), the tokens of
real libraries and requests are printed too, beside what is usual elsewhere.
"""

import asyncio
import json
import sys
import tempfile
from itertools import count
from pathlib import Path

from benchmarks.matching import data
from benchmarks.measure import duration, record, spread, table
from skillkit import SkillManager
from skillkit.disclosure import SkillContextProvider, SkillSession, cost_report, render_catalogue
from skillkit.disclosure.tokens import EncodingCounter
from skillkit.matching import SkillMatcher

DEFAULT_SIZES = [10, 100, 1000]
HEADER = """---
name: {name}
description: Extracts text and tables from documents of kind {number}, fills in forms and merges files. Use it
  for work with such documents or when the user mentions forms of kind {number}.
triggers: [document{number}]
---
"""
BODY = "# {name}\n\n" + "A line of instructions, as they stand in real skills, with a reason for it.\n" * 80
COUNTER = EncodingCounter.named("o200k_base")
WINDOW_SHARE = 4_000
"""2 % of a window of 200,000 tokens."""
UNNEEDED = 60
GREETING = "How are you today, and what did you have for breakfast?"


def main(sizes: list[int], *, recording: bool = False) -> None:
    times, tokens, recorded = [], [], []
    for size in sizes:
        with tempfile.TemporaryDirectory() as scratch:
            manager = library(Path(scratch), size)
            provider = SkillContextProvider(manager, matcher=SkillMatcher(mode="lexical"), counter=COUNTER)
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
    real = real_libraries([*sizes, 10_000] if sizes == DEFAULT_SIZES else sizes)
    if recording:
        record("disclosure", {"unit": "tokens of a request", "libraries": recorded, "real": real})


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
        "static injection": cost_report(manager, counter=COUNTER).static,
    }


def real_libraries(sizes: list[int]) -> list[dict[str, int]]:
    """Tokens of requests that need no skill, in libraries of real skills; empty without the corpus."""
    folder = data.folder(None)
    corpus = data.corpus(folder)
    if corpus is None:
        return []
    requests = data.unneeded(folder)[:UNNEEDED]
    recorded = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as scratch:
            source = corpus if size <= len(corpus.skills) else corpus.repeated(size)
            manager = written(Path(scratch), source, size)
            provider = SkillContextProvider(manager, counter=COUNTER)
            found = [provider.disclose(request, SkillSession()) for request in requests]
            quiet = [one for one in found if not one.matched]
            ids = "\n".join(skill.canonical_name for skill in manager.offered_skills())
            every = render_catalogue(manager.offered_skills(), budget=10_000_000, counter=COUNTER).tokens
            fixed = found[0].tokens.catalogue + found[0].tokens.tools
            mean = round(sum(one.tokens.note for one in quiet) / max(1, len(quiet)))
            recorded.append(
                {
                    "skills": len(manager.offered_skills()),
                    "list": found[0].tokens.catalogue,
                    "tools": found[0].tokens.tools,
                    "fixed": fixed,
                    "per request": mean,
                    "per request, most": max(one.tokens.note for one in quiet),
                    "all": fixed + mean,
                    "all descriptions": every,
                    "2 % of a window": min(every, WINDOW_SHARE),
                    "ids only": COUNTER.count(ids),
                }
            )
    table(
        f"o200k tokens that skills add to a request that needs none (real skills, {len(requests)} requests)",
        list(recorded[0]),
        [[f"{number:,}" for number in row.values()] for row in recorded],
    )
    return recorded


def written(root: Path, source: data.Library, size: int) -> SkillManager:
    """A part of a library on disk."""
    for skill in source.skills[:size]:
        folder = root / skill.name
        folder.mkdir(parents=True)
        header = json.dumps({"name": skill.name, "description": skill.description[:1024]})
        (folder / "SKILL.md").write_text(f"---\n{header}\n---\n{source.bodies[skill.name]}", encoding="utf-8")
    manager = SkillManager(project_skill_dir=root, anthropic_config_dir="", max_folders=size + 1)
    manager.discover()
    return manager


if __name__ == "__main__":
    sizes = [int(size) for size in sys.argv[1:] if size != "--record"]
    main(sizes or DEFAULT_SIZES, recording="--record" in sys.argv)
