"""The routing tier: descriptions with wrong words, asked by the skills' own teams; and its cost."""

import os
import random
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from time import process_time

from benchmarks.matching import data
from benchmarks.measure import duration, table
from skillkit.core.models import SkillMetadata
from skillkit.evaluation.cases import Case, Routing, Suite
from skillkit.evaluation.discovery import FoundSuites
from skillkit.evaluation.report import GOOD, Result
from skillkit.evaluation.routing import RoutedCase, routed_cases, run_routing
from skillkit.evaluation.tester import SkillTester, skills_in
from skillkit.matching import SkillMatcher

DEFECTS = 20
LEAST_CASES = 2
BROKEN = 0.5
"""A skill whose own requests pass less often than this is reported."""


def measure(folder: Path, seed: int) -> None:
    """Give skills the description of another one; count how many are found, and how many were said before."""
    rows = []
    for library in data.libraries(folder):
        matcher = SkillMatcher(library.skills, mode="lexical", body=library.body)
        by_skill = _cases(library)
        before = {name: _rate(run_routing(matcher, cases)) for name, cases in by_skill.items()}
        skills = {skill.canonical_name: skill for skill in library.skills}
        chance = random.Random(seed)
        harmed = chance.sample(sorted(name for name in by_skill if name in skills), DEFECTS)
        after = {name: _harmed(matcher, skills, name, by_skill[name], chance) for name in harmed}
        found = sum(rate < BROKEN for rate in after.values())
        worse = sum(rate < before[name] for name, rate in after.items())
        alarms = sum(rate < BROKEN for rate in before.values())
        rows.append((library.name, str(DEFECTS), str(worse), str(found), f"{alarms} of {len(before)}"))
    columns = ("library", "planted", "worse than the report before", "below half", "below half unharmed")
    table("Wrong trigger words", columns, rows)


def _cases(library: data.Library) -> dict[str, list[RoutedCase]]:
    found: dict[str, list[RoutedCase]] = defaultdict(list)
    for number, case in enumerate(library.positive):
        for routed in routed_cases(
            [Case(str(number), (case.request,), routing=Routing(case.relevant))], None
        ):
            found[routed.wanted[0]].append(routed)
    return {name: cases for name, cases in found.items() if len(cases) >= LEAST_CASES}


def _harmed(
    matcher: SkillMatcher,
    skills: Mapping[str, SkillMetadata],
    name: str,
    cases: list[RoutedCase],
    chance: random.Random,
) -> float:
    """The pass rate of a skill's requests when it has the description of another."""
    skill = skills[name]
    other = chance.choice([each for each in skills.values() if each is not skill])
    matcher.add(replace(skill, description=other.description))
    try:
        return _rate(run_routing(matcher, cases))
    finally:
        matcher.add(skill)


def _rate(results: list[Result]) -> float:
    return sum(result.outcome in GOOD for result in results) / len(results)


def cost(folder: Path, count: int = 1000) -> None:
    """As many cases as there are skills, routed in the library of them, against reading the skills' files.

    Counted are finding the skills, their index and every request in the library, and then all that the tier
    does besides: every request of its skill alone. Processor time, so that what else the
    machine does counts little, and the best of several: routing each time in a process that remembers no
    words of an earlier round.
    """
    found = skills_in([folder]).list_skills()[:count]
    suite = Suite(
        folder / "cases.jsonl",
        "jsonl",
        tuple(
            Case(str(number), (" ".join(skill.description.split()[:12]),), routing=Routing((skill.name,)))
            for number, skill in enumerate(found)
        ),
    )
    paths = sorted(folder.rglob("SKILL.md"))
    readings = {
        "found and read": min(_spent(lambda: _found_and_read(folder)) for _ in range(5)),
        "bytes at known places": min(_spent(lambda: [path.read_bytes() for path in paths]) for _ in range(5)),
        "text at known places": min(
            _spent(lambda: [path.read_text(encoding="utf-8") for path in paths]) for _ in range(5)
        ),
    }
    if hasattr(os, "posix_fadvise"):
        readings["bytes that are not in memory"] = _spent_from_disk(paths)
    in_library = min(_spent_anew(lambda: _routed_in_library(folder, suite)) for _ in range(3))
    whole = min(_spent_anew(lambda: _tester(folder, suite).run_routing()) for _ in range(3))
    rows = [
        (how, duration(reading), f"{in_library / reading:.0f} ×", f"{whole / reading:.0f} ×")
        for how, reading in readings.items()
    ]
    columns = ("files", "reading", f"{len(found)} cases in the library", "the whole tier")
    table(f"Cost of routing, {duration(in_library)} and {duration(whole)}", columns, rows)


def _routed_in_library(folder: Path, suite: Suite) -> list[Result]:
    tester = _tester(folder, suite)
    return run_routing(tester.matcher, tester.routed())


def _tester(folder: Path, suite: Suite) -> SkillTester:
    return SkillTester((), FoundSuites((suite,)), skills_in([folder]).list_skills(), mode="lexical")


def _found_and_read(folder: Path) -> int:
    """Read every file beneath a folder whose places are not known yet."""
    return sum(len(Path(parent, name).read_bytes()) for parent, _, names in os.walk(folder) for name in names)


def _spent_from_disk(paths: list[Path]) -> float:
    """What reading takes when the system has to fetch the files again."""
    for path in paths:
        with path.open("rb") as file:
            os.fsync(file)
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return _spent(lambda: [path.read_bytes() for path in paths])


def _spent(action: Callable[[], object]) -> float:
    begun = process_time()
    action()
    return process_time() - begun


def _spent_anew(action: Callable[[], object]) -> float:
    """The same in a copy of this process."""
    context = get_context("fork")
    answer, told = context.Pipe(duplex=False)
    process = context.Process(target=lambda: told.send(_spent(action)))
    process.start()
    spent: float = answer.recv()
    process.join()
    return spent
