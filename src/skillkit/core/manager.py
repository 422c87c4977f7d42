"""SkillManager: the façade of the core, sync and async over the same code."""

import logging
import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from threading import RLock
from time import time_ns
from typing import Any, Literal, Unpack, overload

from skillkit.core import resources
from skillkit.core.authority import Authority, DefaultAuthority, current_requester, decide_offer
from skillkit.core.availability import Refusal, unavailable
from skillkit.core.cache import CacheStats, ContentCache
from skillkit.core.compat import project_folder
from skillkit.core.content import stamp_of
from skillkit.core.discovery import Discovery, Rename
from skillkit.core.disk import real_path
from skillkit.core.events import NO_JOURNAL, Writer
from skillkit.core.exceptions import ChangedContentError, ConfigurationError, SkillsUseError
from skillkit.core.models import (
    NO_REQUIREMENTS,
    Diagnostic,
    InitMode,
    SkillMetadata,
    SkillSource,
)
from skillkit.core.packages import missing_packages
from skillkit.core.parser import SkillParser
from skillkit.core.processors import SESSION_ID, RenderContext, checked, note_suspicious, render
from skillkit.core.resources import Resource, ResourcePage
from skillkit.core.scanning import DiagnosticLog, SkillFilters, scan, skill_filter
from skillkit.core.skill import Skill, read_document
from skillkit.core.skill_index import SkillIndex
from skillkit.core.sources import Folder, build_sources, project_root
from skillkit.core.threads import in_thread
from skillkit.core.walk import MAX_DEPTH, MAX_FOLDERS
from skillkit.core.watcher import Watcher

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes found by a refresh, by qualified name."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)


class SkillManager:
    """Finds skills, knows them by name, and hands out their instructions and files.

    A folder argument of None is its default if that exists, `""` (for a list `[]`) is none, and a
    path must exist. With no folder argument at all, the other well-known places are searched too:
    `.agent/skills` and `.agents/skills` of the project, `~/.agent/skills`, `~/.agents/skills`,
    `~/.claude/skills`; `default_sources` says so outright. `only` is a folder, or several by precedence,
    and nothing else is searched: it takes the place of the other folder arguments. A SKILL.md that is
    invalid is skipped; `offer_recovered` (for all, or decided by folder) makes the best of it. One instance
    may be used from many threads and event loops.
    """

    def __init__(
        self,
        skill_dir: Folder | None = None,
        project_skill_dir: Folder | None = None,
        anthropic_config_dir: Folder | None = None,
        plugin_dirs: Iterable[Folder] | None = None,
        additional_search_paths: Iterable[Folder] | None = None,
        *,
        skills_dir: Folder | None = None,
        only: Folder | Iterable[Folder] | None = None,
        max_cache_size: int = 100,
        default_sources: bool | None = None,
        bundled: bool = False,
        packages: bool | Sequence[str] = False,
        max_depth: int = MAX_DEPTH,
        max_folders: int = MAX_FOLDERS,
        include_nested: bool = False,
        strict: bool = False,
        offer_recovered: bool | Callable[[Path], bool] = False,
        mcp_servers: Collection[str] | None = None,
        authority: Authority | None = None,
        journal: Writer | None = None,
        rename: Rename | None = None,
    ) -> None:
        project_skill_dir = project_folder(project_skill_dir, skill_dir, skills_dir)
        named = (project_skill_dir, anthropic_config_dir, plugin_dirs, additional_search_paths)
        if only is not None:
            if any(argument is not None for argument in named):
                raise ConfigurationError("only= cannot be combined with other folder arguments", "only")
            default_sources = False
        if default_sources is None:
            default_sources = all(argument is None for argument in named)
        self.sources: list[SkillSource] = build_sources(
            project_skill_dir,
            anthropic_config_dir,
            plugin_dirs,
            additional_search_paths,
            only=only,
            more_defaults=default_sources,
            bundled=bundled,
            packages=packages,
        )
        named_packages = () if isinstance(packages, bool) else packages
        self._unshipped = tuple(missing_packages(named_packages)) if named_packages else ()
        self.skills_dir = Path(project_skill_dir or Path.cwd() / ".claude" / "skills")
        self.authority: Authority = authority or DefaultAuthority()
        self.journal: Writer = journal or NO_JOURNAL
        """The journal that records events of skills."""
        self.mcp_servers = mcp_servers
        """MCP servers the program offers, for skills that need one; None if unknown."""
        self._discovery = Discovery(
            SkillParser(strict=strict, recover=offer_recovered is True),
            max_depth=max_depth,
            max_folders=max_folders,
            include_nested=include_nested,
            rename=rename,
            recover=offer_recovered if callable(offer_recovered) else None,
        )
        self.project_dir = project_root()
        self._cache = ContentCache(max_cache_size)
        self._catalogue = SkillIndex()
        self._diagnostics: tuple[Diagnostic, ...] = ()
        self._diagnostic_log = DiagnosticLog()
        self._init_mode = InitMode.UNINITIALIZED
        self._scanning = RLock()
        self._tools: Any = None
        self.tool_sources: list[Any] = []
        """Further sources of tools for the conversations of this manager: anything with `tools(session)`."""
        self.shared_provider: object | None = None
        """Disclosure state that conversations of this manager share; set by the layer that creates it."""
        self._generation = 0

    # Tier 1: finding

    @property
    def init_mode(self) -> InitMode:
        """Whether and how skills were discovered."""
        return self._init_mode

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """All diagnostics, in the order they were found."""
        return self._diagnostics

    @property
    def generation(self) -> int:
        """Number of searches so far: values derived from the skills are valid until it changes."""
        return self._generation

    def discover(self) -> None:
        """Search all sources. A bad file becomes a diagnostic and a line in the log, never an exception."""
        self._load()
        self._init_mode = InitMode.SYNC

    def ensure_discovered(self) -> None:
        """Search all sources unless they were searched before."""
        if self._init_mode is InitMode.UNINITIALIZED:
            self.discover()

    async def adiscover(self) -> None:
        """`discover` without blocking the event loop."""
        await in_thread(self._load)
        self._init_mode = InitMode.ASYNC

    def refresh(self) -> Changes:
        """Search again, reading only changed files; return the differences."""
        with self._scanning:
            before = self._catalogue.everything
            self._scan()
            after = self._catalogue.everything
        if self._init_mode is InitMode.UNINITIALIZED:
            self._init_mode = InitMode.SYNC
        common = before.keys() & after.keys()
        return Changes(
            added=tuple(sorted(after.keys() - before.keys())),
            changed=tuple(sorted(name for name in common if before[name] is not after[name])),
            removed=tuple(sorted(before.keys() - after.keys())),
        )

    async def arefresh(self) -> Changes:
        """`refresh` without blocking the event loop."""
        return await in_thread(self.refresh)

    def watch(self, on_change: Callable[[Changes], object] | None = None) -> "Watcher":
        """Refresh after every change on disk until the returned watcher is stopped.

        `on_change` is called from the watcher's thread. Needs the extra `watch`.
        """

        def refresh() -> None:
            changes = self.refresh()
            if changes and on_change is not None:
                on_change(changes)

        folders = {source.directory for source in self.sources}
        # A watch does not follow symbolic links: skills behind one are watched where they really are.
        folders |= {real_path(skill.base_dir) for skill in self._catalogue}
        return Watcher([folder for folder in folders if folders.isdisjoint(folder.parents)], refresh).start()

    # Tier 1: knowing

    @overload
    def list_skills(
        self, include_qualified: Literal[False] = False, **wanted: Unpack[SkillFilters]
    ) -> list[SkillMetadata]: ...

    @overload
    def list_skills(self, include_qualified: Literal[True], **wanted: Unpack[SkillFilters]) -> list[str]: ...

    def list_skills(
        self, include_qualified: bool = False, **wanted: Unpack[SkillFilters]
    ) -> list[SkillMetadata] | list[str]:
        """Return all skills by name, or those that pass every filter given: `source`, `name`, `keywords`.

        With `include_qualified` the answer is names, those of shadowed skills included.
        """
        catalogue = self._catalogue
        passes = skill_filter(**wanted)
        skills = [skill for skill in catalogue if passes(skill)]
        if not include_qualified:
            return skills
        shadowed = catalogue.shadowed.items()
        return [skill.name for skill in skills] + [
            qualified for qualified, skill in shadowed if passes(skill)
        ]

    def get_skill(self, name: str) -> SkillMetadata:
        """Return the skill called `name`, `plugin:name` or `source:name`; names are compared canonically."""
        return self._catalogue.get(name)

    def find_skill(self, name: str) -> SkillMetadata | None:
        """Like `get_skill`, but return None, without a search for near names, if there is no such skill."""
        return self._catalogue.find(name)

    def refusal(self, skill: SkillMetadata) -> Refusal | None:
        """Return why `skill` may not be used now: disabled, untrusted or unavailable."""
        decided = decide_offer(self.authority, skill, current_requester())
        return decided or unavailable(skill, self._catalogue.find, self.mcp_servers)

    def offered_skills(self) -> list[SkillMetadata]:
        """Return the skills to offer to a model."""
        requester, catalogue = current_requester(), self._catalogue
        known = catalogue.listed
        decides = getattr(self.authority, "offer_refusal", None)
        if getattr(decides, "__func__", None) is not DefaultAuthority.offer_refusal:
            known = [skill for skill in known if decide_offer(self.authority, skill, requester) is None]
        # Nearly no skill has requirements, and every request asks this of all skills.
        return [
            skill
            for skill in known
            if skill.requires is NO_REQUIREMENTS
            or unavailable(skill, catalogue.find, self.mcp_servers) is None
        ]

    # Tier 2: instructions

    def load_skill(self, name: str) -> Skill:
        """Return the skill called `name`; its instructions are read on access."""
        skill = self._skill_in_place(name)
        return Skill(metadata=skill, base_directory=skill.base_dir)

    def invoke_skill(
        self, name: str, arguments: str | None = "", *, sha256: str | None = None, session_id: str = ""
    ) -> str:
        """Return the instructions of a skill with `arguments` substituted, ready for a model.

        With `sha256`, of that very file or ChangedContentError. `session_id` replaces
        `${CLAUDE_SESSION_ID}`.
        """
        skill = self._catalogue.get(name)
        arguments = checked(arguments, skill.name)
        path = os.fspath(skill.skill_path)
        try:
            stamp = stamp_of(os.stat(path))
        except OSError:
            stamp = None
        settled = self._cache.is_settled(path, arguments)
        if stamp is not None and settled:
            text = self._cache.get(path, arguments, stamp, sha256)
            if text is not None:
                return text
        self._discovery.check_folder(skill.base_dir)
        began = time_ns()
        document = read_document(skill, valid=self._discovery.known_stamp(path))
        if sha256 not in (None, document.sha256):
            raise ChangedContentError(f"Skill file has changed since it was checked: {path}. Try again.")
        text = None if settled else self._cache.get(path, arguments, None, document.sha256)
        if text is None:
            note_suspicious(arguments, skill.name)
            around = RenderContext.of(skill, self.project_dir, session_id)
            text = render(document.body, skill.base_dir, arguments, skill.name, around)
        if SESSION_ID not in document.body:
            is_settled = document.stamp.is_settled(began)
            self._cache.put(path, arguments, document.stamp, text, document.sha256, settled=is_settled)
        logger.debug("Loaded skill '%s' from %s", skill.name, path)
        return text

    def is_cached(self, name: str, arguments: str | None = "") -> bool:
        """Whether `invoke_skill` has this rendered in its cache, so that it most likely costs only a stat."""
        skill = self._catalogue.find(name)
        return skill is not None and self._cache.holds(os.fspath(skill.skill_path), arguments or "")

    async def ainvoke_skill(self, name: str, arguments: str | None = "") -> str:
        """`invoke_skill` without blocking the event loop."""
        if self._init_mode is InitMode.UNINITIALIZED:
            raise SkillsUseError(
                "Manager not initialized. Call adiscover() or discover() before invoking skills."
            )
        return await in_thread(self.invoke_skill, name, arguments)

    def clear_cache(self, skill_name: str | None = None) -> int:
        """Drop the rendered texts of one skill, or of all; return how many."""
        if skill_name is None:
            return self._cache.clear()
        skill = self._catalogue.find(skill_name)
        return self._cache.clear(os.fspath(skill.skill_path)) if skill else 0

    async def aclear_cache(self, skill_name: str | None = None) -> int:
        return self.clear_cache(skill_name)

    def get_cache_stats(self) -> CacheStats:
        return self._cache.get_stats()

    # Tier 3: files

    def list_resources(self, name: str) -> list[Resource]:
        """Return the files of a skill, without SKILL.md."""
        skill = self._skill_in_place(name)
        return resources.list_resources(skill.base_dir, skill.skill_path.name)

    async def alist_resources(self, name: str) -> list[Resource]:
        return await in_thread(self.list_resources, name)

    def read_resource(
        self,
        name: str,
        path: str,
        offset: int = 0,
        limit: int = resources.DEFAULT_PAGE,
        *,
        sha256: str | None = None,
    ) -> ResourcePage:
        """A page of a file beneath the skill's folder; anything outside raises PathSecurityError.

        With `sha256`, of that very file or ChangedContentError.
        """
        return resources.read_resource(self._skill_in_place(name).base_dir, path, offset, limit, sha256)

    async def aread_resource(
        self, name: str, path: str, offset: int = 0, limit: int = resources.DEFAULT_PAGE
    ) -> ResourcePage:
        return await in_thread(self.read_resource, name, path, offset, limit)

    def _skill_in_place(self, name: str) -> SkillMetadata:
        skill = self.get_skill(name)
        self._discovery.check_folder(skill.base_dir)
        return skill

    # For models, without a framework

    def tools(self) -> list[dict[str, Any]]:
        """Return the tools for a model as JSON-schema dictionaries; programs with many conversations keep a
        `skillkit.integrations.SkillTools` for each."""
        tools: list[dict[str, object]] = self._toolbox().tools()
        return tools

    async def call(self, name: str, arguments: Mapping[str, object] | str | None = None) -> str:
        """Call the tool `name` and return its result for the model."""
        text: str = await self._toolbox().call(name, arguments)
        return text

    def _toolbox(self) -> Any:
        with self._scanning:
            if self._tools is None:
                # By name: a layer above the core makes the tools.
                self._tools = import_module("skillkit.integrations.plain").SkillTools(self)
            return self._tools

    # Attributes of the index that programs for 0.1 and 0.2 read

    @property
    def _skills(self) -> Mapping[str, SkillMetadata]:
        return self._catalogue.by_name

    @property
    def _plugin_skills(self) -> Mapping[str, Mapping[str, SkillMetadata]]:
        return self._catalogue.by_source

    # Scanning

    def _load(self) -> None:
        """Search, as the span `skill.load` of a program that uses OpenTelemetry."""
        if sys.modules.get("opentelemetry") is None:  # nobody collects spans; the import would take time
            self._scan()
            return
        from opentelemetry import trace

        with trace.get_tracer("skillkit").start_as_current_span("skill.load") as span:
            self._scan()
            if span.is_recording():
                names = [skill.name for skill in self.offered_skills()]
                found = len(self.list_skills())
                span.set_attributes({"skill.names": names, "skill.count": len(names), "skill.found": found})

    def _scan(self) -> None:
        with self._scanning:
            found = scan(self.sources, self._discovery, self.authority)
            self._diagnostics = (*self._unshipped, *found.diagnostics)
            self._diagnostic_log.log(self._diagnostics)
            self._catalogue = found.catalogue
            self._generation += 1
        logger.info(
            "Discovery complete: %d skill(s) registered from %d source(s)",
            len(found.catalogue),
            len(self.sources),
        )
