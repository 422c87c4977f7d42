"""Skills that run as a conversation of their own (`context: fork`), of which only the result comes back."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from skillkit.core.events import Kind
from skillkit.disclosure.session import SkillSession
from skillkit.disclosure.tool_result import ToolResult
from skillkit.disclosure.tool_sources import WrappedTools
from skillkit.disclosure.tools import Effect, Tool, ToolSource


class ForkTools(WrappedTools):
    """Loading a skill that runs alone calls `start` with its name and arguments."""

    def __init__(
        self,
        source: ToolSource,
        runs_alone: Callable[[str], bool],
        start: Callable[[str, str], Awaitable[ToolResult]],
    ) -> None:
        super().__init__(source)
        self.runs_alone = runs_alone
        self.start = start

    def wrap(self, tool: Tool, session: SkillSession) -> Tool:
        if tool.event is not Kind.LOADED:
            return tool

        async def load_or_start(skill_id: str, arguments: str = "") -> object:
            if self.runs_alone(skill_id):
                return await self.start(skill_id, arguments)
            return await tool.handler(skill_id=skill_id, arguments=arguments)

        return replace(tool, handler=load_or_start)


class ReadingTools(WrappedTools):
    """The tools that run nothing and change nothing."""

    def wrap(self, tool: Tool, session: SkillSession) -> Tool | None:
        return tool if tool.effect is Effect.READS else None


def request_of(identity: str, arguments: str) -> str:
    """What starts the conversation of a skill."""
    return f"Carry out the skill {identity}." + (f" Arguments: {arguments}" if arguments else "")
