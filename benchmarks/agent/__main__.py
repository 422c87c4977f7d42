"""Ask the embedded model every request of the evaluation set and compare the tools it calls.

    python3 dev.py bench agent [--only KIND] [--limit N] [--verbose]

Both bundled skills are active. A request counts as right when the tool calls, loading skills aside, are
exactly the expected ones with the expected arguments; for a request that expects none, when there is none.
Scripts are not run: what would run is recorded, and the sandbox has its own tests.
"""

import argparse
import asyncio
import json
import os
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

REQUESTS = Path(__file__).with_name("requests.jsonl")
NOT_COUNTED = {"load_skill", "read_skill_resource", "search_skills"}
LANGUAGES = {
    "arabic": "ar", "german": "de", "greek": "el", "english": "en", "spanish": "es", "french": "fr",
    "hindi": "hi", "italian": "it", "japanese": "ja", "korean": "ko", "dutch": "nl", "portuguese": "pt",
    "swahili": "sw", "chinese": "zh",
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench agent", description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="a kind of request")
    parser.add_argument("--limit", type=int, help="the first N of each kind")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ.update(AGENT_HOME=home, AGENT_SKILLS="hello-extended,kalshi-markets")
        asyncio.run(evaluate(options.only, options.limit, verbose=options.verbose))


async def evaluate(only: str | None, limit: int | None, *, verbose: bool) -> None:
    from skillkit.agent.models.local import LocalProvider
    from skillkit.agent.runtime import AgentRuntime, Observers, activate
    from skillkit.scripts import ScriptTools

    record_instead_of_running(ScriptTools)
    client = LocalProvider().client()
    activation = activate(print)
    right: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    processed = 0
    began = time.monotonic()
    for line in REQUESTS.read_text("utf-8").splitlines():
        row = json.loads(line)
        kind = row["kind"]
        if (only and kind != only) or (limit and asked[kind] >= limit):
            continue
        steps: list[Any] = []
        runtime = AgentRuntime(
            Ready(client), activation, fresh_conversation(), observers=Observers(step=steps.append)
        )
        answer = await runtime.answer(row["request"])
        calls = [(step.name, json.loads(step.arguments)) for step in steps if step.kind == "tool"]
        processed += sum(step.processed or 0 for step in steps)
        good = is_right(row, calls)
        asked[kind] += 1
        right[kind] += good
        if verbose or not good:
            print(f"{'right' if good else 'WRONG'}  {row['request']}")
            print(f"       {calls} {answer[:150]!r}", flush=True)
    print(f"\n{'kind':15} right   of")
    for kind, count in asked.items():
        print(f"{kind:15} {right[kind]:5} {count:4}")
    total, good = sum(asked.values()), sum(right.values())
    print(f"{'all':15} {good:5} {total:4}   {good / total:.1%}")
    seconds = time.monotonic() - began
    print(f"{processed:,} prompt tokens processed, {seconds:.0f} s, {seconds / total:.1f} s a request")


class Ready:
    """A provider whose client is loaded already."""

    name = "local"
    model = "embedded"

    def __init__(self, client: Any) -> None:
        self._client = client

    def problem(self) -> None:
        return None

    def client(self) -> Any:
        return self._client


def fresh_conversation() -> Any:
    from skillkit.agent.conversations import ConversationStore

    return ConversationStore().new()


def record_instead_of_running(tools: Any) -> None:
    """What is measured is the choice; running needs a network that a benchmark should not need."""

    async def run(self: Any, skill_name: str = "", script_name: str = "", **_: object) -> dict[str, Any]:
        found = self._find(skill_name, script_name)
        if isinstance(found, dict):
            return found
        return {"success": True, "result": {"done": True}, "message": f"Executed {script_name}"}

    tools._tool_run = run
    tools._tool_help = run


def is_right(row: dict[str, Any], calls: list[tuple[str, dict[str, Any]]]) -> bool:
    counted = [(name, comparable(arguments)) for name, arguments in calls if name not in NOT_COUNTED]
    expected = [(call["tool"], comparable(call["arguments"])) for call in row["calls"]]
    return counted == expected


def comparable(arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments without what is left to the default, languages by code, names of scripts without ending."""
    kept = {key: value for key, value in arguments.items() if value not in (None, [], "") and key != "json"}
    if isinstance(kept.get("language"), str):
        language = kept["language"].strip().lower()
        kept["language"] = LANGUAGES.get(language, language)
    if isinstance(kept.get("script_name"), str):
        kept["script_name"] = kept["script_name"].removesuffix(".py")
    if isinstance(kept.get("args"), list):
        kept["args"] = [argument for argument in kept["args"] if argument != "--json"]
        if not kept["args"]:
            del kept["args"]
    return kept


if __name__ == "__main__":
    main()
