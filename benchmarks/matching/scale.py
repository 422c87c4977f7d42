"""What requests get in libraries of many sizes: the right skill put in or named, and what nobody needs."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.matching.data import SEED, Library
from benchmarks.measure import record
from benchmarks.measure import table as print_table
from skillkit.disclosure.catalogue import CatalogueStyle, render_catalogue
from skillkit.disclosure.notes import nearby
from skillkit.disclosure.offer_matcher import RANKED, nearest, worth_naming
from skillkit.disclosure.provider import NEARBY_TOKENS
from skillkit.disclosure.tokens import TokenEstimator
from skillkit.matching import Match, MatchingSettings, Mode, SkillMatcher

SIZES = (10, 100, 1_000, 10_000)
SMALL = (3, 10, 30)
COUNTER = TokenEstimator()
SHORT = 8
REQUESTS = 300
"""Asked of the largest libraries; of the others, all."""
PARTS = 12


@dataclass(frozen=True)
class Answers:
    """Shares in percent."""

    skills: int
    requests: int
    first: float
    among_three: float
    reach: float
    """Right skill put in or shown in a line: of the list where it describes all, else with the request."""
    injected: float
    precision: float
    """Share of what is put in that is right."""
    unneeded: float
    """Share of requests that need no skill and get one."""
    short: float | None
    """Right skill put in for requests of fewer than eight words."""
    forbidden: float | None
    """Share of requests that are not for a skill and get it nevertheless."""


COLUMNS = ("first", "among_three", "reach", "injected", "precision", "unneeded", "short", "forbidden")


def measure(library: Library, none: Sequence[str], mode: Mode, most: int | None = None) -> Answers:
    matcher = SkillMatcher(library.skills, mode=mode, body=library.body, settings=MatchingSettings())
    chance = random.Random(SEED)
    cases = list(library.positive)
    if most is not None and len(cases) > most:
        cases = chance.sample(cases, most)
    listed = render_catalogue(library.skills, style=CatalogueStyle.COMPACT).complete
    places, right, visible, put_in, short = [], [], [], 0, []
    for case in cases:
        ranked = matcher.rank(case.request, RANKED)
        names = [match.skill.name for match in ranked]
        places.append(min((names.index(name) for name in case.relevant if name in names), default=99))
        matched = [match.skill.name for match in matcher.match(case.request)]
        put_in += len(matched)
        right.append(any(name in case.relevant for name in matched))
        shown = named(ranked, matched, len(library.skills))
        visible.append(listed or right[-1] or any(name in case.relevant for name in shown))
        if len(case.request.split()) < SHORT:
            short.append(right[-1])
    place, hit = np.array(places), np.array(right)
    forbidden = [
        any(match.skill.name in case.forbidden for match in matcher.match(case.request))
        for case in library.cases
        if case.forbidden and not case.relevant
    ]
    return Answers(
        len(library.skills),
        len(cases),
        _percent(place == 0),
        _percent(place < 3),
        _percent(visible),
        _percent(hit),
        round(100 * float(hit.sum()) / max(put_in, 1), 1),
        _percent([bool(matcher.match(request)) for request in none]),
        _percent(short) if short else None,
        _percent(forbidden) if forbidden else None,
    )


def named(ranked: Sequence[Match], matched: Sequence[str], skills: int) -> list[str]:
    """The skills that the request names with a line, as `SkillContextProvider` chooses them."""
    active = [match.skill for match in ranked if match.skill.name in matched]
    near = nearest(ranked, active, worth_naming(skills))
    shown = nearby(near, COUNTER, NEARBY_TOKENS).count("\n")
    return [match.skill.name for match in near[:shown]]


def tables(
    libraries: Sequence[Library],
    none: Sequence[str],
    corpus: Library | None,
    held_out: Library | None,
    *,
    mode: Mode = Mode.LEXICAL,
    sizes: Sequence[int] = SIZES,
    recording: bool = False,
) -> None:
    """Print, and keep if asked to, one row a library and size."""
    rows: dict[str, Answers] = {}
    for library in libraries:
        for size in SMALL:
            rows[f"{library.name}, parts of {size}"] = _mean(_parts(library, size), none, mode)
    if held_out:
        for size in SMALL:
            rows[f"held out, parts of {size}"] = _mean(_parts(held_out, size), none, mode)
    for size in sizes:
        for library in libraries:
            if size < len(library.skills):
                rows[f"{library.name}, parts of {size}"] = _mean(_parts(library, size), none, mode)
            elif corpus:
                filled = library.filled(corpus, size)
                rows[f"{library.name} in {size:,}"] = measure(filled, none, mode, REQUESTS)
        if held_out and size > max(SMALL):
            part = held_out if size >= len(held_out.skills) else _parts(held_out, size, 1)[0]
            rows[f"held out, {len(part.skills):,}"] = measure(part, none, mode, REQUESTS)
    print_table(
        f"{mode.value}, in %; learned from the labelled libraries, not from 'held out'",
        ["requests of", "skills", *COLUMNS],
        [
            [name, f"{found.skills:,}", *(_shown(getattr(found, column)) for column in COLUMNS)]
            for name, found in rows.items()
        ],
    )
    if recording:
        kept = [
            {"of": name, "skills": found.skills, **{column: getattr(found, column) for column in COLUMNS}}
            for name, found in rows.items()
        ]
        record("matching-scale", {"unit": "%", "mode": mode.value, "rows": kept})


def _parts(library: Library, size: int, number: int = PARTS) -> list[Library]:
    """Random parts, each of which answers some requests."""
    chance = random.Random(SEED)
    wanted = sorted({name for case in library.positive for name in case.relevant})
    rest = sorted({skill.name for skill in library.skills} - set(wanted))
    parts = []
    for at in range(number):
        asked = chance.sample(wanted, min(len(wanted), max(1, size // 2 if len(rest) >= size else size)))
        names = [*asked, *chance.sample(rest, min(len(rest), size - len(asked)))]
        parts.append(library.part(f"{library.name}/{at}", names[:size]))
    return parts


def _mean(parts: Sequence[Library], none: Sequence[str], mode: Mode) -> Answers:
    chance = random.Random(SEED)
    found = [measure(part, chance.sample(list(none), min(80, len(none))), mode) for part in parts]
    means = {}
    for column in COLUMNS:
        known = [getattr(one, column) for one in found if getattr(one, column) is not None]
        means[column] = round(float(np.mean(known)), 1) if known else None
    return Answers(found[0].skills, sum(one.requests for one in found), **means)  # type: ignore[arg-type]


def _percent(values: object) -> float:
    found = np.asarray(values, dtype=float)
    return round(100 * float(found.mean()), 1) if found.size else 0.0


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
