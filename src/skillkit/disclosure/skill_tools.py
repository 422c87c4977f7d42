"""The neutral tools that disclose skills: load_skill, read_skill_resource, search_skills."""

import asyncio
from collections.abc import Callable, Mapping
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
from skillkit.disclosure.tools import SKILL_ALIASES, Effect, Tool

if TYPE_CHECKING:
    from skillkit.disclosure.offer import Matcher

MAX_READ = 64 * 1024
MAX_FOUND = 20


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

        async def load_skill(skill_id: str, arguments: str = "") -> ToolResult:
            if self.activator.manager.is_cached(skill_id, arguments):
                return self._load(session, skill_id, arguments)  # a thread would take several times as long
            return await asyncio.to_thread(self._load, session, skill_id, arguments)

        return Tool(
            "load_skill",
            "Load a skill.",
            _schema({"skill_id": {"type": "string"}, "arguments": {"type": "string"}}, "skill_id"),
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

        async def read_skill_resource(
            skill_id: str, path: str, offset: int = 0, limit: int = DEFAULT_PAGE
        ) -> ToolResult:
            return await asyncio.to_thread(read, skill_id, path, offset, limit)

        text, number = {"type": "string"}, {"type": "integer"}
        return Tool(
            "read_skill_resource",
            "Read a skill's file.",
            _schema({"skill_id": text, "path": text, "offset": number}, "skill_id", "path"),
            read_skill_resource,
            Effect.READS,
            event=Kind.READ,
            unlisted={"limit": number},
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
            _schema({"query": {"type": "string"}}, "query"),
            search_skills,
            Effect.READS,
            unlisted={"limit": {"type": "integer"}},
            names_files=False,
        )


class UnloadSkill:
    """An optional ToolSource with which the model unloads a skill that it no longer needs."""

    def tools(self, session: SkillSession) -> tuple[Tool, ...]:
        async def unload_skill(skill_id: str) -> ToolResult:
            active = {canonical_name(identity): identity for identity in session.active_ids}
            identity = active.get(canonical_name(skill_id))
            if identity is None:
                message = f"This skill is not in use. In use: {', '.join(session.active_ids) or 'none'}"
                return ToolResult(envelope.error(skill_id, "not_found", message), failed=True)
            session.drop(identity)
            return ToolResult(envelope.unloaded(identity))

        schema = _schema({"skill_id": {"type": "string"}}, "skill_id")
        describe = "Stop using a skill."
        return (Tool("unload_skill", describe, schema, unload_skill, Effect.READS, aliases=SKILL_ALIASES),)


def _refused(name: str, refused: SkillRefusedError) -> ToolResult:
    return ToolResult(envelope.error(name, refused.code, str(refused)), failed=True, error=refused.code)


def _schema(properties: Mapping[str, Mapping[str, object]], *required: str) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": list(required)}
