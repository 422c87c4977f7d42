"""Fewer tools: those that lead somewhere in this conversation, the tools of skills in use first."""

from collections.abc import Callable, Collection

from skillkit.core.events import Kind
from skillkit.core.manager import SkillManager
from skillkit.core.models import SkillMetadata
from skillkit.disclosure.session import SkillSession
from skillkit.disclosure.tool_sources import WrappedTools
from skillkit.disclosure.tools import Tool, ToolSource, find_tool


class ToolsOfUse(WrappedTools):
    """Leaves out what leads nowhere: files and scripts of skills not in use, loading what is loaded.

    A tool that the user names is there all the same, and a call of any tool is answered. `loadable` are
    the skills that may be loaded now; None for all.
    """

    def __init__(
        self,
        source: ToolSource,
        manager: SkillManager,
        loadable: Callable[[], Collection[str] | None] = lambda: None,
    ) -> None:
        super().__init__(source)
        self.manager = manager
        self.loadable = loadable

    def tools(self, session: SkillSession) -> tuple[Tool, ...]:
        tools = self.source.tools(session)
        # One tool that is named brings those that work on the same skills: what is listed can then be run.
        named = {
            tool.used_on for tool in tools if tool.used_on is not None and tool.name in session.latest_request
        }
        in_use, offered = skills_in_use(self.manager, session), self.manager.offered_skills() if named else []
        useful = []
        for tool in tools:
            wrapped = self.wrap(tool, session)
            skills = offered if tool.used_on in named else in_use
            if wrapped is not None and (tool.used_on is None or any(map(tool.used_on, skills))):
                useful.append(wrapped)
        return tuple(sorted(useful, key=lambda tool: tool.event is Kind.LOADED))

    def tool(self, name: str, session: SkillSession) -> Tool | None:
        return find_tool(self.source, name, session)

    def wrap(self, tool: Tool, session: SkillSession) -> Tool | None:
        return self._narrow_load(tool, session.active_ids) if tool.event is Kind.LOADED else tool

    def _narrow_load(self, load: Tool, active: Collection[str]) -> Tool | None:
        loadable = self.loadable()
        offered = load.choices("skill_id") or tuple(loadable or ())
        left = [
            identity
            for identity in offered
            if identity not in active and (loadable is None or identity in loadable)
        ]
        if left:
            return load.with_choices(skill_id=left)
        return load if not offered and loadable is None else None


def skills_in_use(manager: SkillManager, session: SkillSession) -> list[SkillMetadata]:
    """The active skills of a conversation that there still are."""
    found = map(manager.find_skill, session.active_ids)
    return [skill for skill in found if skill is not None]
