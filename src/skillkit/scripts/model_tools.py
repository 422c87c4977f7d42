"""The script tools as a model sees them: `script_list`, `script_help`, `script_run`, `script_file`."""

from collections.abc import Awaitable, Callable, Sequence

from skillkit.core.authority import current_requester
from skillkit.disclosure.tools import SKILL_ALIASES, Effect, Tool
from skillkit.scripts.inputs import named_inputs
from skillkit.scripts.payloads import Payload

_Call = Callable[..., Awaitable[Payload]]


def model_tools(list_scripts: _Call, show_help: _Call, run: _Call, read_file: _Call) -> tuple[Tool, ...]:
    """Return the tools that make these calls; the last one reads files that scripts made."""
    name = {"type": "string"}

    async def script_list(skill_id: str | None = None, **_: object) -> Payload:
        return await list_scripts(skill_id or None)

    async def script_help(skill_id: str = "", script_name: str = "", **_: object) -> Payload:
        return await show_help(skill_id, script_name)

    async def script_run(
        skill_id: str = "",
        script_name: str = "",
        args: Sequence[str] | None = None,
        json: bool | None = None,
        **_: object,
    ) -> Payload:
        inputs = named_inputs(current_requester().files)
        return await run(skill_id, script_name, args, json, inputs=inputs)

    async def script_file(uri: str = "", offset: int = 0, **_: object) -> Payload:
        return await read_file(uri, offset)

    return (
        Tool(
            "script_list",
            "List scripts.",
            _schema({"skill_id": name}),
            script_list,
            Effect.READS,
            aliases=SKILL_ALIASES,
        ),
        Tool(
            "script_help",
            "Show a script's arguments.",
            _schema({"skill_id": name, "script_name": name}, "skill_id", "script_name"),
            script_help,
            Effect.RUNS_CODE,
            asks=True,
            implied={"args": ["--help"]},
            aliases=SKILL_ALIASES,
        ),
        Tool(
            "script_run",
            "Run a script.",
            _schema(
                {
                    "skill_id": name,
                    "script_name": name,
                    "args": {"type": "array", "items": name},
                    "json": {"type": "boolean", "description": "JSON output; default if supported"},
                },
                "skill_id",
                "script_name",
            ),
            script_run,
            Effect.RUNS_CODE,
            asks=True,
            aliases=SKILL_ALIASES,
        ),
        Tool(
            "script_file",
            "Read a file that a script made.",
            _schema({"uri": name, "offset": {"type": "integer"}}, "uri"),
            script_file,
            Effect.READS,
        ),
    )


def _schema(properties: dict[str, object], *required: str) -> dict[str, object]:
    """A schema in few words: every request carries it."""
    schema: dict[str, object] = {"type": "object", "properties": properties}
    return {**schema, "required": list(required)} if required else schema
