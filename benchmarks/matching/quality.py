"""What requests get in libraries of 3 to 10,000 skills: the right skill, put in or in sight, or a wrong one.

Each library is asked with its own requests, with those of the other libraries, for which nothing in it was
made (`foreign`), and with questions that need no skill at all. Parts of 3, 10 and 30 skills are chosen at
random; 100 and more are filled up with skills of the corpus. Of 1,000 and 10,000 one library is left out,
and its requests are the foreign ones; there the corpus may hold a skill that does answer them.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from benchmarks.matching.data import SEED, Case, Library
from benchmarks.measure import record
from benchmarks.measure import table as print_table
from skillkit.core.models import SkillMetadata
from skillkit.disclosure.catalogue import CatalogueStyle, render_catalogue
from skillkit.disclosure.notes import nearby
from skillkit.disclosure.offer import RANKED, nearest, worth_naming
from skillkit.disclosure.provider import nearby_budget
from skillkit.disclosure.tokens import TokenEstimator
from skillkit.matching import Match, MatchingSettings, Mode, SkillMatcher

PARTS, FILLED, MERGED = (3, 10, 30), 100, (1_000, 10_000)
SIZES = (*PARTS, FILLED, *MERGED)
MOST_PARTS, MOST_REQUESTS, MOST_FOREIGN, MOST_NEEDLESS = 6, 300, 150, 60
LINES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
COUNTER = TokenEstimator()


@dataclass
class Answers:
    """What the requests to libraries of one size got; each list has one entry a request."""

    first: list[bool] = field(default_factory=list)
    among_three: list[bool] = field(default_factory=list)
    in_sight: list[bool] = field(default_factory=list)
    put_in: list[bool] = field(default_factory=list)
    inserted: int = 0
    foreign: list[bool] = field(default_factory=list)
    needless: list[bool] = field(default_factory=list)
    near_misses: list[bool] = field(default_factory=list)
    """Requests that the author of a skill says are not for it, and that get it."""
    own_tops: list[float] = field(default_factory=list)
    """The score of the best skill where it is right, else 0."""
    foreign_tops: list[float] = field(default_factory=list)
    by_library: dict[str, list[bool]] = field(default_factory=dict)

    def ask(self, library: Library, foreign: Sequence[str], needless: Sequence[str], mode: Mode) -> None:
        matcher = SkillMatcher(library.skills, mode=mode, body=library.body, settings=MatchingSettings())
        catalogue = render_catalogue(library.skills, style=CatalogueStyle.COMPACT)
        for case in library.cases:
            matched = [match.skill.name for match in matcher.match(case.request)]
            if not case.relevant:
                self.near_misses.append(any(name in case.forbidden for name in matched))
                continue
            ranked = matcher.rank(case.request, RANKED)
            names = [match.skill.name for match in ranked]
            place = min((names.index(name) for name in case.relevant if name in names), default=99)
            self.first.append(place == 0)
            self.among_three.append(place < 3)
            self.own_tops.append(ranked[0].score if place == 0 else 0.0)
            self.put_in.append(any(name in case.relevant for name in matched))
            self.inserted += len(matched)
            shown = named(ranked, matched, len(library.skills), nearby_budget(catalogue))
            self.in_sight.append(
                catalogue.complete or self.put_in[-1] or any(name in case.relevant for name in shown)
            )
        for request in foreign:
            got = bool(matcher.match(request))
            self.foreign.append(got)
            self.by_library.setdefault(library.name, []).append(got)
            top = matcher.rank(request, 1)
            self.foreign_tops.append(top[0].score if top else 0.0)
        self.needless += [bool(matcher.match(request)) for request in needless]

    @property
    def worst(self) -> float | None:
        """The largest share of foreign requests that one library answers with a skill."""
        return max(map(_percent, self.by_library.values()), default=None)

    def numbers(self) -> dict[str, float | int | None]:
        return {
            "requests": len(self.put_in),
            "right first": _percent(self.first),
            "among three": _percent(self.among_three),
            "in sight": _percent(self.in_sight),
            "right put in": _percent(self.put_in),
            "of what is put in, right": round(100 * sum(self.put_in) / max(self.inserted, 1), 1),
            "foreign requests": len(self.foreign),
            "foreign that get a skill": _percent(self.foreign),
            "worst library": self.worst,
            "needless that get a skill": _percent(self.needless),
            "near misses": _percent(self.near_misses) if self.near_misses else None,
        }


def tables(
    libraries: Sequence[Library],
    none: Sequence[str],
    corpus: Library | None,
    *,
    mode: Mode = Mode.LEXICAL,
    sizes: Sequence[int] = SIZES,
    name: str | None = None,
    commits: dict[str, str] | None = None,
) -> None:
    """Print a row a size, and what other lines would do; keep it under `name`."""
    rows: list[dict[str, object]] = []
    answered: dict[str, Answers] = {}
    for size in (*sizes, 0):
        answers = answered[f"{size:,}" if size else "whole libraries"] = Answers()
        for library, foreign in subjects(libraries, size, corpus):
            chance = random.Random(SEED)
            answers.ask(library, foreign, chance.sample(list(none), min(len(none), MOST_NEEDLESS)), mode)
        rows.append({"skills": list(answered)[-1], **answers.numbers()})
        print(rows[-1], flush=True)
    print_table(
        "in %", list(rows[0]), [["-" if cell is None else str(cell) for cell in row.values()] for row in rows]
    )
    print_table(
        "other lines: right put in / foreign that get a skill",
        ["skills", *map(str, LINES)],
        [
            [label, *(f"{_above(one.own_tops, line)} / {_above(one.foreign_tops, line)}" for line in LINES)]
            for label, one in answered.items()
        ],
    )
    if name:
        record(name, {"unit": "%", "mode": mode.value, "libraries": commits or {}, "rows": rows})


def subjects(
    libraries: Sequence[Library], size: int, corpus: Library | None
) -> Iterator[tuple[Library, list[str]]]:
    """Libraries of `size` skills, 0 for whole ones, and foreign requests for each."""
    chance = random.Random(SEED)
    if size > FILLED:
        if corpus:
            *kept, guest = sorted(libraries, key=lambda library: library.name)
            merged = _merged(kept, size)
            yield _asked(merged.filled(corpus, size), chance), _foreign([guest], chance)
        return
    for library in libraries:
        others = [other for other in libraries if other is not library]
        if not size or (size == FILLED and corpus and len(library.skills) < size):
            whole = library.filled(corpus, size) if size and corpus else library
            yield _asked(whole, chance), _foreign(others, chance)
            continue
        wanted = sorted({name for case in library.positive for name in case.relevant})
        rest = sorted({skill.name for skill in library.skills} - set(wanted))
        for _ in range(min(MOST_PARTS, max(1, len(wanted) // size)) if len(library.skills) >= size else 0):
            names = chance.sample(wanted, min(len(wanted), size))
            names += chance.sample(rest, min(len(rest), size - len(names)))
            yield _asked(library.part(library.name, names), chance), _foreign(others, chance)


def _asked(library: Library, chance: random.Random) -> Library:
    """The library with a bounded number of the requests that it can answer or must not."""
    names = {skill.name for skill in library.skills}
    cases = [
        case
        for case in library.cases
        if (names.issuperset(case.relevant) if case.relevant else not names.isdisjoint(case.forbidden))
    ]
    kept: tuple[Case, ...] = tuple(chance.sample(cases, min(len(cases), MOST_REQUESTS)))
    return Library(library.name.partition("@")[0], library.skills, library.bodies, kept)


def _foreign(libraries: Sequence[Library], chance: random.Random) -> list[str]:
    """Requests of these libraries, equally many of each."""
    share = MOST_FOREIGN // max(len(libraries), 1)
    return [
        case.request
        for library in libraries
        for case in chance.sample(library.positive, min(len(library.positive), share))
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


def named(ranked: Sequence[Match], matched: Sequence[str], skills: int, budget: int) -> list[str]:
    """The skills that the request names with a line, as `SkillContextProvider` chooses them."""
    active = [match.skill for match in ranked if match.skill.name in matched]
    near = nearest(ranked, active, worth_naming(skills))
    shown = nearby(near, COUNTER.count, budget).count("\n")
    return [match.skill.name for match in near[:shown]]


def _percent(values: Sequence[bool]) -> float:
    return round(100 * sum(values) / len(values), 1) if values else 0.0


def _above(tops: Sequence[float], line: float) -> float:
    return _percent([top >= line for top in tops])
