"""`agent -p`: one request, one answer, nothing else on stdout."""

import asyncio
import sys
from typing import TYPE_CHECKING

from skillkit.agent.cli import output
from skillkit.agent.cli.progress import Progress
from skillkit.agent.cli.turns import Options, TurnTree, runtime_for, visible

if TYPE_CHECKING:
    from skillkit.agent.runtime import AgentRuntime

_ANY_SKILL, _ACTIVE = "skills are there", "skill is active"


def answer(text: str, options: Options) -> None:
    """Print the answer to `text`; `-` reads it from stdin."""
    from skillkit.agent.telemetry import Stopwatch

    request = sys.stdin.read() if text == "-" else text
    watch = Stopwatch()
    tree = TurnTree(shown=options.verbose)
    runtime = runtime_for(options, show=tree)
    with Progress() as progress:
        if sys.stderr.isatty():
            progress("Thinking")
        said = asyncio.run(_answer(runtime, request))
    sys.stdout.write(f"{visible(said).strip()}\n")
    sys.stdout.flush()
    tree.finish(watch.seconds, runtime.conversation.id)


async def _answer(runtime: "AgentRuntime", request: str) -> str:
    try:
        return await runtime.answer(request)
    finally:
        await runtime.close()


def show_tools(options: Options) -> None:
    """Print the tools that the model is offered, and when."""
    from skillkit.agent.hello import HelloTools
    from skillkit.scripts import find_scripts

    runtime = runtime_for(options)
    rows = [(tool.name, "no skill is active", tool.description) for tool in HelloTools().tools()]
    disclosure = runtime.skills.disclosure
    rows += [
        (tool.name, _ACTIVE if tool.needs_active else _ANY_SKILL, tool.description)
        for tool in disclosure.tools()
    ]
    for skill in runtime.manager.offered_skills():
        rows += [(f"{skill.name}: {definition}", _ACTIVE, "toolset") for definition in skill.toolsets]
        rows += [(f"{skill.name}: {script.name}", _ACTIVE, "script") for script in find_scripts(skill)]
    output.table(("Tool", "When", "What"), rows, flexible="What")
