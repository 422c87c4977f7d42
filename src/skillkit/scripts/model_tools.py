"""The script tools as a model sees them: `script_list`, `script_help`, `script_run`, `script_file`."""

from collections.abc import Awaitable, Callable
from typing import Any

from skillkit.core.authority import current_requester
from skillkit.disclosure.tools import SKILL_ALIASES, Argument, Effect, Tool, schema
from skillkit.scripts.inputs import named_inputs
from skillkit.scripts.payloads import Payload

_Call = Callable[..., Awaitable[Payload]]


def model_tools(list_scripts: _Call, show_help: _Call, run: _Call, read_file: _Call) -> tuple[Tool, ...]:
    """Return the tools that make these calls; the last one reads files that scripts made."""
    name = {"type": "string"}

    async def script_list(**given: Any) -> Payload:
        return await list_scripts(given.get(Argument.SKILL) or None)

    async def script_help(**given: Any) -> Payload:
        return await show_help(given.get(Argument.SKILL, ""), given.get(Argument.SCRIPT, ""))

    async def script_run(json: bool | None = None, **given: Any) -> Payload:
        names = given.get(Argument.SKILL, ""), given.get(Argument.SCRIPT, "")
        inputs = named_inputs(current_requester().files)
        return await run(*names, given.get(Argument.ARGS), json, inputs=inputs)

    async def script_file(uri: str = "", offset: int = 0, **_: object) -> Payload:
        return await read_file(uri, offset)

    return (
        Tool(
            "script_list",
            "List scripts.",
            schema({}, {Argument.SKILL: name}),
            script_list,
            Effect.READS,
            aliases=SKILL_ALIASES,
        ),
        Tool(
            "script_help",
            "Show a script's arguments.",
            schema({Argument.SKILL: name, Argument.SCRIPT: name}),
            script_help,
            Effect.RUNS_CODE,
            asks=True,
            implied={Argument.ARGS: ["--help"]},
            aliases=SKILL_ALIASES,
        ),
        Tool(
            "script_run",
            "Run a script.",
            schema(
                {Argument.SKILL: name, Argument.SCRIPT: name},
                {
                    Argument.ARGS: {"type": "array", "items": name},
                    "json": {"type": "boolean", "description": "JSON output; default if supported"},
                },
            ),
            script_run,
            Effect.RUNS_CODE,
            asks=True,
            aliases=SKILL_ALIASES,
        ),
        Tool(
            "script_file",
            "Read a file that a script made.",
            schema({"uri": name}, {"offset": {"type": "integer"}}),
            script_file,
            Effect.READS,
        ),
    )
