"""From `module:Class` in a skill's header to tools: only for skills that are enabled and trusted."""

import inspect
import logging
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from skillkit.core.authority import Authority, SkillDirectory, current_requester
from skillkit.core.events import Kind
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.grants import Limits
from skillkit.core.models import SkillMetadata
from skillkit.core.names import canonical_name
from skillkit.disclosure.tools import Tool
from skillkit.toolsets.base import AgentToolset, ToolsetError, as_tool
from skillkit.toolsets.calls import CallOutcome, ToolTimeoutError, call_apart
from skillkit.toolsets.modules import SkillSources, import_module, read_sources

logger = logging.getLogger(__name__)

AUTO_PREFIX = "SKILL_AUTO_PREFIX"
_TRUE = frozenset({"1", "true", "yes", "on"})
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_Made = TypeVar("_Made")


@dataclass(frozen=True, slots=True)
class LoadedToolset:
    """A toolset in use."""

    skill_name: str
    toolset: AgentToolset

    @property
    def qualified_name(self) -> str:
        return f"{self.skill_name}.{type(self.toolset).__name__}"


@dataclass(frozen=True, slots=True)
class Toolsets:
    """Loaded toolsets, and errors of the others."""

    loaded: tuple[LoadedToolset, ...] = ()
    tools: tuple[Tool, ...] = ()
    errors: tuple[ToolsetError, ...] = ()
    collisions: tuple[str, ...] = ()
    """Messages about tools left out because another one has their name."""


class ToolsetLoader:
    """Loads the toolsets of the skills in a directory; one that fails does not keep the others."""

    def __init__(
        self,
        skills: SkillDirectory,
        authority: Authority | None = None,
        *,
        config: object = None,
        auto_prefix: bool | None = None,
    ) -> None:
        self.skills = skills
        self._authority = authority
        self._config = config
        self.auto_prefix = auto_prefix_enabled() if auto_prefix is None else auto_prefix

    def load(self) -> Toolsets:
        """The toolsets of all skills that are enabled and trusted, by name of the skill."""
        loaded: list[LoadedToolset] = []
        errors: list[ToolsetError] = []
        for skill in self.skills.list_skills():
            for definition in skill.toolsets:
                try:
                    loaded.append(self.load_toolset(skill, definition))
                except ToolsetError as error:
                    logger.error("%s", error)
                    errors.append(error)
        collisions: list[str] = []
        tools = collect_tools(loaded, auto_prefix=self.auto_prefix, on_collision=collisions.append)
        for collision in collisions:
            logger.warning("%s", collision)
        return Toolsets(tuple(loaded), tools, tuple(errors), tuple(collisions))

    def load_toolset(self, skill: SkillMetadata, definition: str) -> LoadedToolset:
        """One toolset of one skill; ToolsetError if it may not or cannot be loaded."""
        module, name = definition_parts(skill, definition)
        sources = self._trusted_sources(skill, definition)
        path = module.split(".")
        if sources.find(path) is None:
            raise _error(skill, definition, f"there is no file {'/'.join(path)}.py in its folder")
        root = f"{_safe(skill.canonical_name)}_{sources.digest.rpartition(':')[2][:16]}"
        imported = self._call(skill, definition, lambda: import_module(sources, root, module))
        found = getattr(imported, name, None)
        if not isinstance(found, type):
            raise _error(skill, definition, f"{module} has no class {name}")
        if not issubclass(found, AgentToolset):
            raise _error(skill, definition, f"{name} must inherit from AgentToolset")

        def make() -> AgentToolset:
            return found(self._config) if inspect.signature(found).parameters else found()

        return LoadedToolset(skill.name, self._call(skill, definition, make))

    def _call(self, skill: SkillMetadata, definition: str, method: Callable[[], _Made]) -> _Made:
        """Call code of the skill; raise ToolsetError if it raises or does not return."""
        try:
            outcome = call_apart(method, Limits.from_environment().timeout)
        except ToolTimeoutError as late:
            raise _error(skill, definition, str(late)) from late
        if outcome.error is None:
            return cast("_Made", outcome.value)
        error = outcome.error
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        package = (missing or "").partition(".")[0]
        if isinstance(error, ModuleNotFoundError) and package in ("", "skillkit_skills"):
            raise _error(skill, definition, str(error)) from error
        if package:
            raise _error(
                skill,
                definition,
                f"it needs the Python package '{package}', which is not installed; "
                f"try 'pip install {package}'",
            ) from error
        raise _error(skill, definition, f"{type(error).__name__}: {error}") from error

    def _trusted_sources(self, skill: SkillMetadata, definition: str) -> SkillSources:
        """The skill's code, once it is known that exactly these bytes may be imported."""
        if (refused := self.skills.refusal(skill)) is not None:
            raise _error(skill, definition, refused.reason)
        try:
            sources = read_sources(skill.base_dir)
        except (SkillsUseError, RecursionError) as error:
            raise _error(skill, definition, str(error)) from error
        authority = self._authority or self.skills.authority
        if (refused := authority.import_refusal(skill, sources.digest, current_requester())) is not None:
            raise _error(skill, definition, refused.reason)
        return sources


def collect_tools(
    loaded: Iterable[LoadedToolset],
    *,
    auto_prefix: bool = False,
    on_collision: Callable[[str], object] = logger.warning,
) -> tuple[Tool, ...]:
    """The tools of all toolsets under names that are theirs alone.

    Of two tools with one name the first keeps it. The second is left out and reported, or with
    `auto_prefix` carries its skill's name before its own.
    """
    taken: dict[str, tuple[Tool, str]] = {}
    for entry in loaded:
        for tool in _tools_of(entry):
            source = f"{entry.qualified_name}.{tool.name}"
            name = tool.name
            if name in taken and auto_prefix:
                name = f"{_safe(entry.skill_name)}_{name}"
            if name in taken:
                first = taken[name][1]
                on_collision(
                    f"Tool name collision: '{name}' from {first} conflicts with {source} (using first)"
                )
                continue
            skill = canonical_name(entry.skill_name)
            taken[name] = (replace(tool, name=name, skill=skill, event=Kind.TOOLSET_CALLED), source)
    return tuple(tool for tool, _ in taken.values())


def auto_prefix_enabled(environ: Mapping[str, str] = os.environ) -> bool:
    return environ.get(AUTO_PREFIX, "").strip().lower() in _TRUE


def _tools_of(entry: LoadedToolset) -> list[Tool]:
    tools = []
    try:
        outcome = call_apart(entry.toolset.get_tools, Limits.from_environment().timeout)
    except ToolTimeoutError as late:
        outcome = CallOutcome(error=late)
    if outcome.error is not None:
        logger.error("Cannot list the tools of toolset %s", entry.qualified_name, exc_info=outcome.error)
        return []
    methods = cast("Iterable[Callable[..., Any]]", outcome.value)
    for method in methods:
        try:
            tools.append(as_tool(method))
        except Exception:
            logger.exception("A method of %s cannot be a tool", entry.qualified_name)
    return tools


def _safe(name: str) -> str:
    return re.sub(r"\W", "_", name.lower())


def definition_parts(skill: SkillMetadata, definition: str) -> tuple[str, str]:
    """Module and class of `module:Class`; ToolsetError when it is written otherwise."""
    module, colon, name = definition.strip().partition(":")
    module = module.removeprefix("./").removesuffix(".py").replace("/", ".")
    if not colon or not all(map(_IDENTIFIER.fullmatch, (*module.split("."), name))):
        raise _error(skill, definition, "it must be written as module:Class, beneath the skill's folder")
    return module, name


def _error(skill: SkillMetadata, definition: str, reason: str) -> ToolsetError:
    message = f"Toolset '{definition}' of skill '{skill.name}' cannot be loaded: {reason}"
    return ToolsetError(message, skill.name, definition)
