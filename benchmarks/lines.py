"""Whether a model that is given nothing but a line of each skill loads the right one, by the line's length.

python3 dev.py bench lines [REQUESTS] [--record]

The embedded model gets real requests of the labelled libraries, each with the nearest skills in lines of
0 (ids only), 20, 60 and 120 characters, as a request has them in a large library, and may load one of them or
answer. Requests whose skill is not among them are left out: no length would help them. What was asked
before is kept in the cache folder, so that a run which was cut goes on.
"""

import hashlib
import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.matching import data
from benchmarks.measure import record, table
from skillkit.agent.models.constrained import Call, ToolSpec, parse, reply_schema, turns_before
from skillkit.agent.models.engine import LocalEngine
from skillkit.agent.models.local import LocalProvider
from skillkit.agent.models.local_client import as_grammar
from skillkit.agent.settings import Settings
from skillkit.core.models import SkillMetadata
from skillkit.disclosure.catalogue import CatalogueStyle, render_catalogue, skill_id, skill_line
from skillkit.disclosure.offer_matcher import NEAREST
from skillkit.disclosure.tokens import EncodingCounter
from skillkit.matching import MatchingSettings, Mode, SkillMatcher

LENGTHS = (0, 20, 60, 120)
REQUESTS = 20
LONGEST = 60
"""Words of a request: the model reads slowly."""
COUNTER = EncodingCounter.named("o200k_base")
CACHE = Path.home() / ".cache" / "skillkit" / "benchmarks" / "lines.json"


def main(requests: int, *, recording: bool) -> None:
    known: dict[str, str] = json.loads(CACHE.read_text("utf-8")) if CACHE.is_file() else {}
    engine: LocalEngine | None = None
    right, loaded, tokens = (dict.fromkeys(LENGTHS, 0) for _ in range(3))
    cases = list(_cases(requests))
    for request, relevant, near, listed in cases:
        for length in LENGTHS:
            note = _note(near, length)
            key = hashlib.sha256(f"{listed}\0{note}\0{request}".encode()).hexdigest()
            if key not in known:
                engine = engine or LocalProvider(Settings().of("local")).engine()
                known[key] = _loads(engine, listed, f"{request}\n\n{note}", near)
                CACHE.parent.mkdir(parents=True, exist_ok=True)
                CACHE.write_text(json.dumps(known), encoding="utf-8")
            loaded[length] += bool(known[key])
            right[length] += known[key] in relevant
            tokens[length] += COUNTER.count(note)
    rows = [
        {
            "characters": length,
            "tokens of the lines": round(tokens[length] / len(cases)),
            "loads a skill": round(100 * loaded[length] / len(cases)),
            "loads the right one": round(100 * right[length] / len(cases)),
        }
        for length in LENGTHS
    ]
    table(
        f"The embedded model, given lines; {len(cases)} requests, in %",
        list(rows[0]),
        [[str(value) for value in row.values()] for row in rows],
    )
    if recording:
        record("lines", {"unit": "% of the requests", "requests": len(cases), "rows": rows})


def _cases(
    requests: int,
) -> list[tuple[str, tuple[str, ...], tuple[SkillMetadata, ...], str]]:
    """Requests of every library in turn, what answers them, the skills nearest to them, and the list."""
    found = []
    libraries = data.libraries(data.folder(None))
    for library in libraries:
        matcher = SkillMatcher(
            library.skills, mode=Mode.LEXICAL, body=library.body, settings=MatchingSettings()
        )
        listed = render_catalogue(library.skills, style=CatalogueStyle.COMPACT, counter=COUNTER).text
        cases = [case for case in library.positive if len(case.request.split()) <= LONGEST]
        random.Random(data.SEED).shuffle(cases)
        kept = 0
        for case in cases:
            near = tuple(match.skill for match in matcher.rank(case.request, NEAREST))
            if kept < requests // len(libraries) and any(skill.name in case.relevant for skill in near):
                kept += 1
                found.append((case.request, case.relevant, near, listed))
    return found


def _note(near: Sequence[SkillMetadata], length: int) -> str:
    lines = [skill_line(skill, length) if length else f"- {skill_id(skill)}" for skill in near]
    return "Perhaps useful for this request; load_skill loads them:\n" + "\n".join(lines)


def _loads(engine: LocalEngine, listed: str, said: str, near: Sequence[SkillMetadata]) -> str:
    """The id that the model loads, or nothing."""
    ids = [skill_id(skill) for skill in near]
    schema = {"type": "object", "properties": {"skill_id": {"enum": ids}}, "required": ["skill_id"]}
    tool = ToolSpec("load_skill", "Load a skill's instructions before you answer.", schema)
    before = turns_before(listed, [tool])
    reply = engine.reply(
        [*before, {"role": "user", "content": said}],
        fixed=len(before),
        grammar=as_grammar(reply_schema([tool])),
        max_tokens=48,
    )
    outcome = parse(reply.text)
    return str(outcome.arguments.get("skill_id", "")) if isinstance(outcome, Call) else ""


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:] if argument != "--record"]
    main(numbers[0] if numbers else REQUESTS, recording="--record" in sys.argv)
