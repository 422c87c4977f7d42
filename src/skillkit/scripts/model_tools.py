"""The script tools as a model sees them: `script_list`, `script_help`, `script_run`, `script_file`."""

from collections.abc import Sequence
from typing import Protocol

from skillkit.core.authority import current_requester
from skillkit.disclosure.tools import SKILL_ALIASES, Effect, Tool
from skillkit.scripts.inputs import Inputs, named_inputs
from skillkit.scripts.payloads import Payload


class ScriptCalls(Protocol):
    """What the tools call."""

    async def ascript_list(self, skill_name: str | None = None) -> Payload: ...

    async def ascript_help(self, skill_name: str, script_name: str) -> Payload: ...

    async def ascript_run(
        self,
        skill_name: str,
        script_name: str,
        args: Sequence[str] | None = None,
        json: bool | None = True,
        *,
        inputs: Inputs | None = None,
    ) -> Payload: ...

    async def aread_output(self, uri: str, offset: int = 0) -> Payload: ...


def model_tools(scripts: ScriptCalls) -> tuple[Tool, ...]:
    """Return the tools; the last one reads what scripts made."""
    name = {"type": "string"}

    async def script_list(skill_id: str | None = None, **_: object) -> Payload:
        return await scripts.ascript_list(skill_id or None)

    async def script_help(skill_id: str = "", script_name: str = "", **_: object) -> Payload:
        return await scripts.ascript_help(skill_id, script_name)

    async def script_run(
        skill_id: str = "",
        script_name: str = "",
        args: Sequence[str] | None = None,
        json: bool | None = None,
        **_: object,
    ) -> Payload:
        inputs = named_inputs(current_requester().files)
        return await scripts.ascript_run(skill_id, script_name, args, json, inputs=inputs)

    async def script_file(uri: str = "", offset: int = 0, **_: object) -> Payload:
        return await scripts.aread_output(uri, offset)

    uri = _schema({"uri": name, "offset": {"type": "integer"}}, "uri")
    reading = Tool("script_file", "Read a file that a script made.", uri, script_file, Effect.READS)
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
        reading,
    )


def _schema(properties: dict[str, object], *required: str) -> dict[str, object]:
    """A schema in few words: every request carries it."""
    schema: dict[str, object] = {"type": "object", "properties": properties}
    return {**schema, "required": list(required)} if required else schema
