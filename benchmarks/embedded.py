"""Ask the embedded model requests for the bundled skills and compare its calls.

    python3 dev.py bench embedded [--record] [FILE]

Each line of FILE is JSON: `q` the request, `right` what its author expects in words, `tool` a pattern of the
tool's name or `none`, `has` texts that the arguments must contain, `shows` a text the answer must contain,
`skills` the value of AGENT_SKILLS.
Scripts are run as the agent runs them; where a service cannot be reached, the call still counts, but not one
that the script refuses for its arguments.
"""

import asyncio
import json
import os
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.measure import record

REQUESTS = Path(__file__).with_suffix(".jsonl")
ALL = "hello-extended,kalshi-markets,skill-author"


def main() -> None:
    given = [argument for argument in sys.argv[1:] if argument != "--record"]
    path = Path(given[0]) if given else REQUESTS
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        os.environ["AGENT_HOME"] = home
        right = asyncio.run(_ask(rows))
    print(f"{right} of {len(rows)} right")
    if "--record" in sys.argv:
        record("embedded", {"requests": len(rows), "right": right})


async def _ask(rows: list[dict[str, Any]]) -> int:
    from skillkit.agent.conversations import ConversationStore
    from skillkit.agent.exceptions import UnfinishedAnswerError
    from skillkit.agent.local.provider import LocalProvider
    from skillkit.agent.runtime import AgentRuntime, Observers
    from skillkit.install.enabled import EnabledSkills

    provider = LocalProvider()
    client = provider.client()
    right = 0
    for row in rows:
        enabled = EnabledSkills(environment={"AGENT_SKILLS": row.get("skills", ALL)})
        steps: list[Any] = []
        began = time.monotonic()
        conversation = ConversationStore().new()
        observers = Observers(step=steps.append)
        runtime = AgentRuntime(provider, enabled, conversation, observers=observers, client=client)
        try:
            answer = await runtime.answer(row["q"])
        except UnfinishedAnswerError as error:
            answer = str(error)
        calls = [(step.name, step.arguments) for step in steps if step.kind == "tool"] or [("none", "")]
        good = _is_right(row, *calls[0], answer)
        right += good
        seconds = time.monotonic() - began
        print(
            f"{'right' if good else 'WRONG'} {seconds:5.0f} s  {row['q']}\n        {calls} {answer[:160]!r}",
            flush=True,
        )
    return right


def _is_right(row: dict[str, Any], tool: str, arguments: str, answer: str) -> bool:
    if not re.fullmatch(row["tool"], tool) or row.get("shows", "") not in answer or "exit code 2" in answer:
        return False
    return all(text.casefold() in arguments.casefold() for text in row["has"])


if __name__ == "__main__":
    main()
