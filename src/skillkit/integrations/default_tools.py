"""The default tools of a manager's skills, and the provider with them."""

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock

from skillkit.core.manager import SkillManager
from skillkit.core.models import SkillMetadata
from skillkit.disclosure import SkillContextProvider, SkillSession, Tool
from skillkit.disclosure.tool_sources import JoinedTools
from skillkit.disclosure.tools import ToolSource
from skillkit.scripts import ScriptTools
from skillkit.scripts.catalogue import find_scripts
from skillkit.toolsets import ActiveToolsets, PythonSkills, ToolsetError, ToolsetLoader

_sharing = Lock()


class ScriptSource:
    """The script tools, for conversations that have a script to use them on."""

    def __init__(self, scripts: ScriptTools, manager: SkillManager) -> None:
        self.scripts = scripts
        self.manager = manager
        self._having: tuple[int, tuple[SkillMetadata, ...]] = (-1, ())

    def tool(self, name: str, session: SkillSession) -> Tool | None:
        return self.scripts.tool(name)

    def tools(self, session: SkillSession) -> tuple[Tool, ...]:
        generation, having = self._having
        if generation != self.manager.generation:
            generation = self.manager.generation
            having = tuple(skill for skill in self.manager.list_skills() if find_scripts(skill))
            self._having = (generation, having)
        usable = any(self.manager.refusal(skill) is None for skill in having)
        return self.scripts.tools() if usable else ()


Paths = str | Path | Sequence[str | Path]
Skills = SkillManager | SkillContextProvider | PythonSkills | Paths
"""What an integration is made from: folders of skills, skills in Python, a manager, or a provider."""


def manager_of(skills: SkillManager | PythonSkills | Paths) -> SkillManager:
    """Return the manager, or a new one with the given folders only."""
    if isinstance(skills, PythonSkills):
        manager = SkillManager(only=())
        skills.attach(manager)
        return manager
    return skills if isinstance(skills, SkillManager) else SkillManager(only=skills)


def default_provider(skills: Skills, scripts: ScriptTools | None = None) -> SkillContextProvider:
    """Return a provider of the catalogue, skills, sandboxed scripts and toolsets of active skills.

    The manager's authority decides which of them are offered.

    All conversations of a manager share one provider, and with it the index, unless they differ in scripts.
    A provider of the program's own is taken as it is; of folders a manager is made.
    """
    if isinstance(skills, SkillContextProvider):
        return skills
    skills = manager_of(skills)
    if scripts is not None:
        return _provider(skills, scripts)
    with _sharing:
        shared = skills.shared_provider
        if not isinstance(shared, SkillContextProvider):
            shared = skills.shared_provider = _provider(skills, ScriptTools(skills))
        return shared


def default_sources(
    manager: SkillManager,
    scripts: ScriptTools,
    on_error: Callable[[ToolsetError | str], object] | None = None,
) -> list[ToolSource]:
    """Return the script tools, the toolsets of active skills and what is added to `manager.tool_sources`.

    `on_error` gets load errors.
    """
    toolsets = ActiveToolsets(ToolsetLoader(manager), on_error)
    return [ScriptSource(scripts, manager), toolsets, JoinedTools(manager.tool_sources)]


def _provider(manager: SkillManager, scripts: ScriptTools) -> SkillContextProvider:
    return SkillContextProvider(manager, tool_sources=default_sources(manager, scripts))
