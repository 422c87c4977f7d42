"""Ask the embedded model every request of an evaluation set and compare what it does.

    python3 dev.py bench agent [--set NAME] [--only KIND] [--limit N] [--rows] [--again]
    python3 dev.py bench agent --requests FILE --skills FOLDER [...]

Three groups of requests, each of which can be named in place of its sets:

- `before`, written before the program learned from `request_kinds.txt`: `labelled-fifth`, `labelled-sixth`
  and `labelled-seventh`, by an author who had read the skills with their examples and triggers, and the
  options of their scripts. What they ask about skills is in that file now.
- `after`: `blind-first` and `blind-second`, by an author who had read the skills with their examples and the
  options of their scripts, and not the program; `blind-third`, by one who had read the options of the scripts
  and of the skills only what they are for. What the first and the third showed is mended; nothing was changed
  for the second.
- `strangers`: `other-skills`, about skills of strangers that nothing was tuned for, and `generated` from the
  evaluation files that skills of strangers bring along: is the skill put to use?

Scripts are not run: what would run is recorded, and the sandbox has its own tests. Each result is kept in the
cache folder, so that a run which was cut goes on where it was; a change of the program begins anew.
"""

import argparse
import asyncio
import hashlib
import json
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.agent.foreign import generated_rows, unpack_by_name
from benchmarks.agent.judging import is_right
from benchmarks.agent.labels import fits_label

GROUPS = {
    "before": ("labelled-fifth", "labelled-sixth", "labelled-seventh"),
    "after": ("blind-first", "blind-second", "blind-third"),
    "strangers": ("other-skills", "generated"),
}
SETS = tuple(name for names in GROUPS.values() for name in names)
BUNDLED = "hello-extended,kalshi-markets"
PROGRAM = Path(__file__).parents[2] / "src" / "skillkit"
DECIDES = (
    "agent/*.py",
    "agent/models/*.py",
    "bundled/**/*",
    "disclosure/*.py",
    "matching/*.py",
    "*/tools.py",
)

Row = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench agent", description=__doc__.splitlines()[0])
    parser.add_argument("--set", choices=(*GROUPS, *SETS), default="after", dest="name")
    parser.add_argument("--requests", type=Path, help="a file of requests instead of a set")
    parser.add_argument("--skills", type=Path, help="the folder of the skills that these are about")
    parser.add_argument("--only", help="a kind of request")
    parser.add_argument("--limit", type=int, help="the first N of each kind")
    parser.add_argument("--rows", action="store_true", help="show every request and what came of it")
    parser.add_argument("--again", action="store_true", help="forget what was measured before")
    options = parser.parse_args()
    names = (options.requests.stem,) if options.requests else GROUPS.get(options.name, (options.name,))
    for name in names:
        print(f"\n{name}")
        ask_set(name, options)


def ask_set(name: str, options: argparse.Namespace) -> None:
    """Ask what of a set was not asked before, and report it by kind."""
    results = Results(name, again=options.again)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        skills = Path(home) / "skills"
        skills.mkdir()
        found = read_rows(options.requests) if options.requests else rows_of_set(name, skills)
        rows = list(chosen(found, options.only, options.limit))
        foreign = options.skills is not None or name in GROUPS["strangers"]
        skills = options.skills or skills
        os.environ.update(AGENT_HOME=home, AGENT_SKILLS=_skills(rows, foreign=foreign))
        missing = [row for row in rows if row["request"] not in results.known]
        if missing:
            asyncio.run(measure(missing, results, [skills] if foreign else [], show=options.rows))
    report(rows, results)


def _skills(rows: list[Row], *, foreign: bool) -> str:
    if foreign:
        return "all-untrusted"
    return "all" if any("expect" in row for row in rows) else BUNDLED


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a file; of several turns the last is the request."""
    rows: list[Row] = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [
        {**row, "earlier": row["turns"][:-1], "request": row["turns"][-1]} if "turns" in row else row
        for row in rows
    ]


def rows_of_set(name: str, skills: Path) -> list[Row]:
    """Return the rows of a set; skills that they are about are written into `skills`."""
    if name == "generated":
        return generated_rows(skills)
    rows = read_rows(Path(__file__).with_name(f"{name.replace('-', '_')}.jsonl"))
    unpack_by_name({row["skill"] for row in rows if "skill" in row}, skills)
    return rows


def chosen(rows: Iterable[Row], only: str | None, limit: int | None) -> Iterator[Row]:
    seen: Counter[str] = Counter()
    for row in rows:
        seen[row["kind"]] += 1
        if only in (None, row["kind"]) and (limit is None or seen[row["kind"]] <= limit):
            yield row


class Results:
    """What this program did with each request, on disk as soon as it is known."""

    def __init__(self, name: str, *, again: bool = False) -> None:
        from skillkit.agent.models.model_files import cache_folder

        self.path = cache_folder().parent / "benchmarks" / f"agent-{name}-{program_digest()}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if again:
            self.path.unlink(missing_ok=True)
        lines = self.path.read_text("utf-8").splitlines() if self.path.exists() else []
        self.known: dict[str, Row] = {result["request"]: result for result in map(json.loads, lines)}

    def add(self, result: Row) -> None:
        self.known[result["request"]] = result
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(result, ensure_ascii=False) + "\n")


def program_digest() -> str:
    """Of everything that has a say in what the model reads and may reply."""
    digest = hashlib.sha256()
    files = {path for pattern in DECIDES for path in PROGRAM.glob(pattern) if path.is_file()}
    for path in sorted(path for path in files if "__pycache__" not in path.parts):
        digest.update(f"{path.relative_to(PROGRAM)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:12]


async def measure(rows: list[Row], results: Results, search: list[Path], *, show: bool) -> None:
    from skillkit.agent.conversations import ConversationStore
    from skillkit.agent.exceptions import UnfinishedAnswerError
    from skillkit.agent.models.local import LocalProvider
    from skillkit.agent.runtime import AgentRuntime, Observers, find_enabled
    from skillkit.scripts import ScriptTools

    record_instead_of_running(ScriptTools)
    provider = LocalProvider()
    client = provider.client()
    enabled = find_enabled(print, search)
    names = tuple(skill.name for skill in enabled.manager.offered_skills())
    for row in rows:
        steps: list[Any] = []
        runtime = AgentRuntime(
            provider,
            enabled,
            ConversationStore().new(),
            observers=Observers(step=steps.append),
            client=client,
        )
        for earlier in row.get("earlier", ()):
            await runtime.answer(earlier)
        steps.clear()
        began = time.monotonic()
        finished = True
        try:
            answer = await runtime.answer(row["request"])
        except UnfinishedAnswerError as error:
            answer, finished = str(error), False
        calls = [(step.name, json.loads(step.arguments)) for step in steps if step.kind == "tool"]
        right = (
            fits_label(row, calls, answer)
            if "expect" in row
            else is_right({"skills": names, **row}, calls, answer, runtime.active_skills)
        )
        result = {
            "request": row["request"],
            "right": finished and right,
            "calls": calls,
            "answer": answer,
            "tokens": sum(step.tokens.total for step in steps if step.tokens is not None),
            "processed": sum(step.processed or 0 for step in steps),
            "seconds": round(time.monotonic() - began, 1),
        }
        results.add(result)
        if show:
            print(f"{'right' if result['right'] else 'WRONG'}  {row['request']}")
            print(f"       {calls} {answer[:150]!r}", flush=True)


def record_instead_of_running(tools: Any) -> None:
    """What is measured is the choice; running needs a network that a benchmark should not need."""

    async def run(_: Any, skill: str, script_name: str, *args: object, **more: object) -> dict[str, Any]:
        return {"success": True, "result": {"done": True}, "message": f"Executed {script_name}"}

    tools.ascript_run = run
    tools.ascript_help = run


def report(rows: list[Row], results: Results) -> None:
    asked = Counter(row["kind"] for row in rows)
    right = Counter(row["kind"] for row in rows if results.known[row["request"]]["right"])
    print(f"{'kind':15} right   of")
    for kind, count in asked.items():
        print(f"{kind:15} {right[kind]:5} {count:4}")
    print(f"{'all':15} {right.total():5} {len(rows):4}   {right.total() / len(rows):.1%}")
    measured = [results.known[row["request"]] for row in rows]
    seconds = sum(result["seconds"] for result in measured) / len(rows)
    tokens, processed = (
        sum(result[key] for result in measured) / len(rows) for key in ("tokens", "processed")
    )
    print(f"{seconds:.1f} s, {tokens:,.0f} prompt tokens, {processed:,.0f} of them processed a request")


if __name__ == "__main__":
    main()
