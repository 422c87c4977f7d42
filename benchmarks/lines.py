"""Whether a model that is given nothing but a line of each skill chooses the right one, by the line's length.

python3 dev.py bench lines [REQUESTS] [--record]

The embedded model gets real requests of the labelled libraries among 1,000 strangers, those whose skill is
named and not put in, so that only its line speaks for it, and a quarter as many that need no skill. Each
stands beside the nearest skills in lines of 20, 60 and 120 characters; the model says an id or
`none` and nothing else, and is stopped as soon as that is clear, so that an answer takes seconds. What was
asked before is kept in the cache folder, so that a run which was cut goes on.
"""

import hashlib
import json
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.matching import data
from benchmarks.matching.quality import named
from benchmarks.measure import record, table
from skillkit.agent.local.engine import LocalEngine, Turn
from skillkit.agent.local.provider import LocalProvider
from skillkit.agent.settings import Settings
from skillkit.core.models import SkillMetadata
from skillkit.disclosure.catalogue import skill_id, skill_line
from skillkit.disclosure.offer_matcher import RANKED
from skillkit.disclosure.tokens import EncodingCounter
from skillkit.matching import MatchingSettings, Mode, SkillMatcher

LENGTHS = (20, 60, 120)
REQUESTS = 20
SHOWN = 8
"""Skills beside a request: the model reads slowly."""
SIZE = 1_000
LONGEST = 60
"""Words of a request."""
NONE = "none"
ORDER = (
    "You choose the skill that a request needs. Answer with the id of one skill of the list, "
    f"or with {NONE} where the request needs none of them."
)
COUNTER = EncodingCounter.named("o200k_base")
CACHE = Path.home() / ".cache" / "skillkit" / "benchmarks" / "lines.json"


@dataclass(frozen=True)
class Asked:
    """A request, the ids that are right for it, and the skills nearest to it."""

    request: str
    right: frozenset[str]
    near: tuple[SkillMetadata, ...]

    def note(self, length: int) -> str:
        lines = [skill_line(skill, length) for skill in self.near]
        return "Skills:\n" + "\n".join(lines)


def main(requests: int, *, recording: bool) -> None:
    known: dict[str, str] = json.loads(CACHE.read_text("utf-8")) if CACHE.is_file() else {}
    engine: LocalEngine | None = None
    cases = _cases(requests)
    print(f"{len(cases)} requests", flush=True)
    for case in cases:
        for length in LENGTHS:
            key = _key(case, length)
            if key not in known:
                engine = engine or LocalProvider(Settings().of("local")).engine()
                known[key] = _choice(engine, case, length)
                CACHE.parent.mkdir(parents=True, exist_ok=True)
                CACHE.write_text(json.dumps(known), encoding="utf-8")
    rows = [_row(cases, length, known) for length in LENGTHS]
    table(
        f"The embedded model, given lines of {SHOWN} skills; {len(cases)} requests, in %",
        list(rows[0]),
        [[str(value) for value in row.values()] for row in rows],
    )
    if recording:
        record("lines", {"unit": "% of the requests", "requests": len(cases), "rows": rows})


def _row(cases: Sequence[Asked], length: int, known: dict[str, str]) -> dict[str, int]:
    chosen = [(known[_key(case, length)], case) for case in cases]
    needed = [(choice, case) for choice, case in chosen if case.right]
    others = [choice for choice, case in chosen if not case.right]
    return {
        "characters": length,
        "tokens of the lines": round(sum(COUNTER.count(case.note(length)) for case in cases) / len(cases)),
        "chooses a skill": _percent([choice != NONE for choice, _ in needed]),
        "chooses the right one": _percent([choice in case.right for choice, case in needed]),
        "chooses one without need": _percent([choice != NONE for choice in others]),
    }


def _percent(values: Sequence[bool]) -> int:
    return round(100 * sum(values) / max(len(values), 1))


def _key(case: Asked, length: int) -> str:
    return hashlib.sha256(f"{ORDER}\0{case.note(length)}\0{case.request}".encode()).hexdigest()


def _cases(requests: int) -> list[Asked]:
    """Requests of every library in turn, and then some that need no skill."""
    found: list[Asked] = []
    folder = data.folder(None)
    libraries, strangers = data.libraries(folder), data.corpus(folder)
    none = [request for request in data.unneeded(folder) if len(request.split()) <= LONGEST]
    for library in libraries:
        filled = library.filled(strangers, SIZE) if strangers else library
        matcher = SkillMatcher(
            filled.skills, mode=Mode.LEXICAL, body=filled.body, settings=MatchingSettings()
        )
        skills = {skill.name: skill for skill in filled.skills}
        chance = random.Random(data.SEED)
        wanted = [
            (case.request, frozenset(case.relevant))
            for case in library.positive
            if len(case.request.split()) <= LONGEST
        ]
        chance.shuffle(wanted)
        each = requests // len(libraries)
        for some, most in ((wanted, each), ([(one, frozenset[str]()) for one in none], each // 4)):
            kept = 0
            for request, right in some:
                if kept == most:
                    break
                matched = [match.skill.name for match in matcher.match(request)]
                near = named(matcher.rank(request, RANKED), matched, len(filled.skills), 200)[:SHOWN]
                if matched or len(near) < SHOWN or (right and right.isdisjoint(near)):
                    continue
                shown = tuple(skills[name] for name in sorted(near))  # the place says nothing
                found.append(Asked(request, frozenset(skill_id(skills[name]) for name in right), shown))
                kept += 1
    return found


def _choice(engine: LocalEngine, case: Asked, length: int) -> str:
    """The id that the model says, or `none`."""
    ids = [skill_id(skill) for skill in case.near]
    possible = [*ids, NONE]
    said = ""

    def is_clear(piece: str) -> bool:
        nonlocal said
        said += piece
        return sum(one.startswith(said) for one in possible) <= 1

    before: list[Turn] = [{"role": "system", "content": ORDER}]
    asked: Turn = {"role": "user", "content": f"{case.note(length)}\n\nRequest: {case.request}"}
    engine.reply(
        [*before, asked],
        fixed=len(before),
        grammar="root ::= " + " | ".join(json.dumps(one) for one in possible),
        max_tokens=24,
        on_text=is_clear,
    )
    return next((one for one in possible if one.startswith(said)), NONE) if said else NONE


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:] if argument != "--record"]
    main(numbers[0] if numbers else REQUESTS, recording="--record" in sys.argv)
