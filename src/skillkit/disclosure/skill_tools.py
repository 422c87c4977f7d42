"""The neutral tools that disclose skills: load_skill, read_skill_resource, search_skills."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillkit.core.events import Kind
from skillkit.core.names import canonical_name
from skillkit.core.resources import DEFAULT_PAGE
from skillkit.disclosure import envelope
from skillkit.disclosure.activator import Activator, Delivery
from skillkit.disclosure.catalogue import skill_id
from skillkit.disclosure.envelope import SearchHit
from skillkit.disclosure.exceptions import SkillRefusedError
from skillkit.disclosure.files_in_play import counts, named_files
from skillkit.disclosure.offer import Offer
from skillkit.disclosure.session import Origin, SkillSession
from skillkit.disclosure.tool_result import ToolResult
from skillkit.disclosure.tools import SKILL_ALIASES, Argument, Effect, Tool, schema

if TYPE_CHECKING:
    from skillkit.disclosure.offer import Matcher

MAX_READ = 64 * 1024
MAX_FOUND = 20
_TEXT, _NUMBER = {"type": "string"}, {"type": "integer"}


@dataclass(frozen=True, slots=True)
class SkillToolSource:
    """A ToolSource with the tools to load, read and find the skills of one offer."""

    activator: Activator
    offer: Offer
    matcher: "Callable[[], Matcher]"
    activated: Callable[[SkillSession, Delivery], object]
    """Called with each skill that the model activates."""

    def tools(self, session: SkillSession) -> tuple[Tool, ...]:
        """Return the tools that have a use in `session`."""
        found = []
        if self.offer.skills:
            found.append(self._load_skill(session))
        # Offered from the first request on: a changed tool list invalidates prompt caches.
        if self.offer.skills or session.active:
            found.append(self._read_skill_resource(session))
        if not self.offer.catalogue.complete:
            found.append(self._search_skills(session))
        return tuple(found)

    def tool(self, name: str, session: SkillSession) -> Tool | None:
        """Return one tool, even if not offered; it then returns an empty result."""
        match name:
            case "load_skill":
                return self._load_skill(session)
            case "read_skill_resource":
                return self._read_skill_resource(session)
            case "search_skills":
                return self._search_skills(session)
            case _:
                return None

    def _load_skill(self, session: SkillSession) -> Tool:
        """Return the tool that delivers tier 2 to the model."""

        async def load_skill(**given: str) -> ToolResult:
            name, arguments = given[Argument.SKILL], given.get(Argument.TEXT, "")
            if self.activator.manager.is_cached(name, arguments):
                return self._load(session, name, arguments)  # a thread would take several times as long
            return await asyncio.to_thread(self._load, session, name, arguments)

        return Tool(
            "load_skill",
            "Load a skill.",
            schema({Argument.SKILL: _TEXT}, {Argument.TEXT: _TEXT}),
            load_skill,
            Effect.READS,
            event=Kind.LOADED,
            aliases=SKILL_ALIASES,
        )

    def _load(self, session: SkillSession, name: str, arguments: str) -> ToolResult:
        known = session.active_ids
        session.add_files(named_files(arguments), self.activator.manager.project_dir)
        try:
            delivery = self.activator.deliver(name, arguments, session, Origin.LOADED)
        except SkillRefusedError as refused:
            return _refused(name, refused)
        identity = delivery.activation.skill_id
        session.use(identity)
        if not delivery.fresh:
            return ToolResult(envelope.already_active(identity))
        if identity not in known:
            self.activated(session, delivery)
        return ToolResult(delivery.text)

    def _read_skill_resource(self, session: SkillSession) -> Tool:
        """Return the tool that delivers tier 3 to the model: the files beside a SKILL.md."""

        def read(name: str, path: str, offset: int, limit: int) -> ToolResult:
            try:
                page = self.activator.page(name, path, max(0, offset), max(1, min(limit, MAX_READ)), session)
            except SkillRefusedError as refused:
                return _refused(name, refused)
            return ToolResult(envelope.resource_page(name, page))

        async def read_skill_resource(offset: int = 0, limit: int = DEFAULT_PAGE, **given: str) -> ToolResult:
            return await asyncio.to_thread(read, given[Argument.SKILL], given[Argument.PATH], offset, limit)

        return Tool(
            "read_skill_resource",
            "Read a skill's file.",
            schema({Argument.SKILL: _TEXT, Argument.PATH: _TEXT}, {"offset": _NUMBER}),
            read_skill_resource,
            Effect.READS,
            event=Kind.READ,
            unlisted={"limit": _NUMBER},
            names_files=False,
            aliases=SKILL_ALIASES,
        )

    def _search_skills(self, session: SkillSession) -> Tool:
        """Return the tool that finds skills omitted from the catalogue."""

        def search(query: str, limit: int) -> ToolResult:
            manager = self.activator.manager
            offered = {
                id(skill) for skill in manager.offered_skills() if counts(skill, session, manager.project_dir)
            }
            found = [
                SearchHit(skill_id(match.skill), match.skill.description, match.reasons)
                for match in self.matcher().rank(query, max(1, min(limit, MAX_FOUND)))
                if id(match.skill) in offered and match.reasons
            ]
            return ToolResult(envelope.search_result(query, found))

        async def search_skills(query: str, limit: int = 5) -> ToolResult:
            return await asyncio.to_thread(search, query, limit)

        return Tool(
            "search_skills",
            "Find skills.",
            schema({"query": _TEXT}),
            search_skills,
            Effect.READS,
            unlisted={"limit": _NUMBER},
            names_files=False,
        )


class UnloadSkill:
    """An optional ToolSource with which the model unloads a skill that it no longer needs."""

    def tools(self, session: SkillSession) -> tuple[Tool, ...]:
        async def unload_skill(**given: str) -> ToolResult:
            name = given[Argument.SKILL]
            active = {canonical_name(identity): identity for identity in session.active_ids}
            identity = active.get(canonical_name(name))
            if identity is None:
                message = f"This skill is not in use. In use: {', '.join(session.active_ids) or 'none'}"
                return ToolResult(envelope.error(name, "not_found", message), failed=True)
            session.drop(identity)
            return ToolResult(envelope.unloaded(identity))

        wanted, describe = schema({Argument.SKILL: _TEXT}), "Stop using a skill."
        return (Tool("unload_skill", describe, wanted, unload_skill, Effect.READS, aliases=SKILL_ALIASES),)


def _refused(name: str, refused: SkillRefusedError) -> ToolResult:
    return ToolResult(envelope.error(name, refused.code, str(refused)), failed=True, error=refused.code)
