"""Libraries that nothing was tuned on, all together: `bench matching unseen --libraries FOLDER`.

In parts of 3, 10 and 30 skills, filled up to 100 with strangers, and merged with strangers to 1,000 and
10,000; requests that were written to be told apart beside prompts of evaluations of work.
"""

import random
from collections.abc import Sequence

import numpy as np

from benchmarks.matching.data import SEED, Case, Library
from benchmarks.matching.passing import SAID_IN_PASSING
from benchmarks.matching.scale import named
from benchmarks.measure import table as print_table
from skillkit.core.models import SkillMetadata
from skillkit.disclosure.catalogue import CatalogueStyle, render_catalogue
from skillkit.disclosure.offer_matcher import RANKED
from skillkit.matching import MatchingSettings, SkillMatcher

PARTS, FILLED, MERGED = (3, 10, 30), 100, (1_000, 10_000)
MOST_PARTS, MOST_REQUESTS, NONE_OF_A_PART = 6, 900, 30
PUT_TOGETHER = "small"
"""The library that is made of repositories with few skills."""
KINDS = ("trigger", "work")
COLUMNS = (
    "requests",
    "first",
    "among three",
    "put in or named",
    "put in",
    "of it right",
    "without need",
    "in passing",
    "near misses",
    "in whole libraries",
)


class Answers:
    """What the requests of one size got."""

    def __init__(self) -> None:
        self.places: dict[str, list[tuple[int, bool, bool, int]]] = {kind: [] for kind in KINDS}
        self.without_need: list[bool] = []
        self.in_passing: list[bool] = []
        self.near_misses: list[bool] = []
        self.in_whole: list[bool] = []
        """Those of libraries that are there with all skills of their authors: what such a request is really
        for, if there is a skill for it, is among them."""

    def ask(self, library: Library, cases: Sequence[Case], none: Sequence[str], *, whole: bool) -> None:
        matcher = SkillMatcher(library.skills, mode="lexical", body=library.body, settings=MatchingSettings())
        listed = render_catalogue(library.skills, style=CatalogueStyle.COMPACT).complete
        for case in cases:
            matched = [match.skill.name for match in matcher.match(case.request)]
            if not case.relevant:
                self.near_misses.append(any(name in case.forbidden for name in matched))
                if whole:
                    self.in_whole.append(self.near_misses[-1])
                continue
            ranked = matcher.rank(case.request, RANKED)
            names = [match.skill.name for match in ranked]
            place = min((names.index(name) for name in case.relevant if name in names), default=99)
            right = any(name in case.relevant for name in matched)
            shown = named(ranked, matched, len(library.skills))
            seen = listed or right or any(name in case.relevant for name in shown)
            self.places[case.kind].append((place, seen, right, len(matched)))
        self.without_need.extend(bool(matcher.match(request)) for request in none)
        self.in_passing.extend(bool(matcher.match(sentence)) for sentence in SAID_IN_PASSING)

    def row(self, kinds: Sequence[str]) -> list[str]:
        found = [one for kind in kinds for one in self.places[kind]]
        if not found:
            return ["0", *["-"] * (len(COLUMNS) - 1)]
        places, seen, right, put_in = (np.array(column) for column in zip(*found, strict=True))
        shares = [places == 0, places < 3, seen, right]
        precision = right.sum() / max(put_in.sum(), 1)
        return [
            f"{len(found):,}",
            *(f"{100 * share.mean():.1f}" for share in shares),
            f"{100 * precision:.1f}",
            *(
                f"{100 * np.mean(some):.1f}" if some else "-"
                for some in (self.without_need, self.in_passing, self.near_misses, self.in_whole)
            ),
        ]


def table(libraries: Sequence[Library], none: Sequence[str], corpus: Library | None) -> None:
    """Print one row a size and kind of request."""
    rows = []
    for size in (*PARTS, *((FILLED, *MERGED) if corpus else ())):
        answers = Answers()
        chance = random.Random(SEED)
        for library, cases in of_size(libraries, size, corpus, chance):
            some = none if size > FILLED else chance.sample(list(none), NONE_OF_A_PART)
            whole = library.name.endswith(f"@{FILLED}") and not library.name.startswith(PUT_TOGETHER)
            answers.ask(library, cases, some, whole=whole)
        rows += [
            [f"{size:,}", " + ".join(kinds), *answers.row(kinds)] for kinds in (KINDS, KINDS[:1], KINDS[1:])
        ]
    print_table("libraries that nothing was tuned on, in %", ["skills", "kind", *COLUMNS], rows)


def of_size(
    libraries: Sequence[Library], size: int, corpus: Library | None, chance: random.Random
) -> list[tuple[Library, list[Case]]]:
    """Libraries of `size` skills, and what is asked of each."""
    if size > FILLED and corpus:
        merged = _merged(libraries, size)
        cases = _answerable(merged, merged.cases)
        return [(merged.filled(corpus, size), chance.sample(cases, min(len(cases), MOST_REQUESTS)))]
    found = []
    for library in libraries:
        wanted = sorted({name for case in library.positive for name in case.relevant})
        rest = sorted({skill.name for skill in library.skills} - set(wanted))
        if len(library.skills) < size and size == FILLED and corpus:
            found.append((library.filled(corpus, size), _answerable(library, library.cases)))
            continue
        for _ in range(max(1, min(MOST_PARTS, len(wanted) // size)) if len(library.skills) >= size else 0):
            asked = chance.sample(wanted, min(len(wanted), size))
            names = [*asked, *chance.sample(rest, min(len(rest), size - len(asked)))]
            part = library.part(library.name, names)
            found.append((part, _answerable(part, library.cases)))
    return found


def _answerable(library: Library, cases: Sequence[Case]) -> list[Case]:
    """The requests whose skills are there, and those that are not for one that is."""
    names = {skill.name for skill in library.skills}
    return [
        case
        for case in cases
        if (case.relevant and names.issuperset(case.relevant))
        or (not case.relevant and not names.isdisjoint(case.forbidden))
    ]


def _merged(libraries: Sequence[Library], size: int) -> Library:
    """All of them as one, at most three fifths of `size`; the skills that are asked for stay."""
    cases = tuple(case for library in libraries for case in library.cases)
    wanted = {name for case in cases for name in (*case.relevant, *case.forbidden)}
    skills: dict[str, SkillMetadata] = {}
    bodies: dict[str, str] = {}
    for library in libraries:
        for skill in library.skills:
            if skill.name not in skills:
                skills[skill.name], bodies[skill.name] = skill, library.bodies[skill.name]
    kept = sorted(skills.values(), key=lambda skill: skill.name not in wanted)[: 3 * size // 5]
    return Library("merged", tuple(kept), bodies, cases)
