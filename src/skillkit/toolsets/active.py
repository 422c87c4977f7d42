"""The toolsets of the skills that a conversation uses, and of no others."""

import logging
from collections.abc import Callable
from threading import Lock

from skillkit.core.exceptions import SkillNotFoundError
from skillkit.disclosure.session import SkillSession
from skillkit.disclosure.tools import Tool
from skillkit.toolsets.exceptions import ToolsetError
from skillkit.toolsets.loader import LoadedToolset, ToolsetLoader, collect_tools

logger = logging.getLogger(__name__)


class ActiveToolsets:
    """A ToolSource: what an active skill brings is offered, what another one would bring is not loaded."""

    def __init__(
        self, loader: ToolsetLoader, on_error: Callable[[ToolsetError], object] | None = None
    ) -> None:
        self._loader = loader
        self._on_error = on_error or (lambda error: logger.error("%s", error))
        """Is told once of a toolset that cannot be loaded."""
        self._lock = Lock()
        self._loaded: dict[tuple[str, str], LoadedToolset | ToolsetError] = {}

    def tools(self, session: SkillSession) -> tuple[Tool, ...]:
        """The tools of the active skills, in the order in which they became active."""
        loaded = []
        for activation in session.active:
            try:
                skill = self._loader.skills.get_skill(activation.skill_id)
            except SkillNotFoundError:
                continue
            for definition in skill.toolsets:
                found = self._load(activation.skill_id, definition)
                if isinstance(found, LoadedToolset):
                    loaded.append(found)
        return collect_tools(loaded, auto_prefix=self._loader.auto_prefix)

    def tool(self, name: str, session: SkillSession) -> Tool | None:
        """One of the tools; what is loaded already is not loaded again."""
        return next((tool for tool in self.tools(session) if tool.name == name), None)

    def _load(self, skill_id: str, definition: str) -> LoadedToolset | ToolsetError:
        """Load once; a failure is said once and not tried again in every turn."""
        with self._lock:
            known = self._loaded.get((skill_id, definition))
            if known is None:
                try:
                    known = self._loader.load_toolset(self._loader.skills.get_skill(skill_id), definition)
                except ToolsetError as error:
                    self._on_error(error)
                    known = error
                self._loaded[skill_id, definition] = known
            return known
