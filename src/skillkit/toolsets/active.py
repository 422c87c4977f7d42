"""The toolsets of the skills that a conversation uses, and of no others."""

import logging
from collections.abc import Callable, Mapping, Sequence
from threading import Lock

from skillkit.core.digest_memo import tree_digests
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.models import SkillMetadata
from skillkit.disclosure.session import SkillSession
from skillkit.disclosure.tools import Tool
from skillkit.toolsets.base import ToolsetError
from skillkit.toolsets.loader import LoadedToolset, ToolsetLoader, collect_tools

logger = logging.getLogger(__name__)


class ActiveToolsets:
    """A ToolSource: what an active skill brings is offered, what another one would bring is not loaded."""

    def __init__(
        self, loader: ToolsetLoader, on_error: Callable[[ToolsetError | str], object] | None = None
    ) -> None:
        self._loader = loader
        self._on_error = on_error or (lambda error: logger.error("%s", error))
        """Called once for a toolset that cannot be loaded, and for two tools of one name."""
        self._collisions: set[str] = set()
        self._lock = Lock()
        self._loaded: dict[tuple[str, str], tuple[str, LoadedToolset | ToolsetError]] = {}
        """By skill and class, each with the digest of the tree that it was loaded from."""
        self._collected: tuple[Sequence[LoadedToolset], Mapping[str, Tool]] = ((), {})

    def tools(self, session: SkillSession) -> tuple[Tool, ...]:
        """The tools of the active skills, in the order in which they became active."""
        return self._collect(self._active(session))

    def tool(self, name: str, session: SkillSession) -> Tool | None:
        """One of the tools, made anew only where other toolsets are active than at the last look."""
        loaded = self._active(session)
        collected, by_name = self._collected
        if loaded != collected:
            by_name = {tool.name: tool for tool in self._collect(loaded)}
        return by_name.get(name)

    def _collect(self, loaded: list[LoadedToolset]) -> tuple[Tool, ...]:
        tools = collect_tools(
            loaded, auto_prefix=self._loader.auto_prefix, on_collision=self._report_collision
        )
        self._collected = (loaded, {tool.name: tool for tool in tools})
        return tools

    def _report_collision(self, collision: str) -> None:
        if collision not in self._collisions:
            self._collisions.add(collision)
            self._on_error(collision)

    def _active(self, session: SkillSession) -> list[LoadedToolset]:
        loaded = []
        for activation in session.active:
            skill = self._loader.skills.find_skill(activation.skill_id)
            if skill is None:
                continue
            for definition in skill.toolsets:
                found = self._load(skill, definition)
                if isinstance(found, LoadedToolset):
                    loaded.append(found)
        return loaded

    def _load(self, skill: SkillMetadata, definition: str) -> LoadedToolset | ToolsetError:
        """Load once for the same bytes; a failure is said once and not tried again in every turn."""
        try:
            digest = tree_digests.plain(skill.base_dir).digest
        except SkillsUseError:
            digest = ""  # the loader says what is wrong
        key = (skill.qualified_name, definition)
        with self._lock:
            loaded_from, known = self._loaded.get(key, (None, None))
            if known is None or loaded_from != digest:
                try:
                    known = self._loader.load_toolset(skill, definition)
                except ToolsetError as error:
                    self._on_error(error)
                    known = error
                self._loaded[key] = (digest, known)
            return known
