"""Tools offered to the embedded model: those for the skills of a turn, with valid names enumerated."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from skillkit.agent.local.examples import files_of
from skillkit.core.manager import SkillManager
from skillkit.core.models import SkillMetadata
from skillkit.disclosure import SkillSession, Tool, ToolSource
from skillkit.disclosure.tool_sources import WrappedTools
from skillkit.disclosure.tools import SKILL_ALIASES, Argument, Effect, find_tool, named_skill, schema
from skillkit.matching.terms import terms
from skillkit.scripts.catalogue import find_scripts

READ = "read_skill_resource"
ON_SKILLS = (READ, "script_list", "script_help", "script_run")
_OF_THE_MATCHER = frozenset({"load_skill", "search_skills"})
"""Tools that select skills, which the matcher does here."""
_LEFT_OUT = frozenset({"json", "offset"})
"""Optional arguments that keep their defaults here."""
_MOST_NAMES = 20
MAX_PASSAGE = 3_000
_MAX_FILE = 256 * 1024
_HEADING = re.compile(r"^(?=#{1,6} )", re.MULTILINE)


class LocalTools(WrappedTools):
    """The tools of another source for the skills of a turn, plus `list_skills` and `describe_skill`."""

    def __init__(self, source: ToolSource, manager: SkillManager) -> None:
        super().__init__(source)
        self.manager = manager

    def tools(self, session: SkillSession) -> tuple[Tool, ...]:
        """Return the skills' own tools first: a script is for requests that none of them handles."""
        found = sorted(super().tools(session), key=lambda tool: tool.name in ON_SKILLS)
        return (*found, *self._own())

    def tool(self, name: str, session: SkillSession) -> Tool | None:
        own = next((tool for tool in self._own() if tool.name == name), None)
        found = own or find_tool(self.source, name, session)
        return self._showing(found, session) if found is not None and found.name == READ else found

    def wrap(self, tool: Tool, session: SkillSession) -> Tool | None:
        if tool.name in _OF_THE_MATCHER:
            return None
        properties = tool.parameters.get("properties")
        if not isinstance(properties, Mapping) or Argument.SKILL not in properties:
            return tool
        skills = skills_of_turn(self.manager, session)
        named = [choices for skill in skills if (choices := self._choices(skill, properties))]
        return _choosing(tool, properties, named) if named else None

    def _choices(self, skill: SkillMetadata, properties: Mapping[str, Any]) -> dict[str, list[str]]:
        """Return the valid values of a tool's arguments for a skill; empty if the tool has no use there."""
        choices = {Argument.SKILL: [skill.canonical_name]}
        if Argument.SCRIPT in properties:
            choices[Argument.SCRIPT] = [script.name for script in find_scripts(skill)]
        if Argument.PATH in properties:
            choices[Argument.PATH] = files_of(skill, self.manager)[:_MOST_NAMES]
        return choices if all(choices.values()) else {}

    def _showing(self, tool: Tool, session: SkillSession) -> Tool:
        """Return the tool that reads files, changed to return the passage nearest to the request."""

        async def read(**given: str) -> object:
            skill, path = given[Argument.SKILL], given[Argument.PATH]
            page = await self.manager.aread_resource(skill, path, 0, _MAX_FILE)
            text = passage(page.text or "", session.latest_request)
            return f"{skill}/{page.path}:\n\n{text}" if text else f"{skill}/{page.path} has no text."

        return replace(tool, handler=read)

    def _own(self) -> tuple[Tool, ...]:
        offered = self.manager.offered_skills()
        if not offered:
            return ()

        async def list_skills(**_: object) -> object:
            return {skill.canonical_name: skill.description for skill in offered}

        async def describe_skill(**given: object) -> object:
            return await asyncio.to_thread(describe, self.manager.get_skill(named_skill(given)), self.manager)

        names = [skill.canonical_name for skill in offered][:_MOST_NAMES]
        nothing = {**schema({}), "required": []}
        return (
            Tool("list_skills", "List all skills.", nothing, list_skills, Effect.READS),
            Tool(
                "describe_skill",
                "Say what a skill can do.",
                schema({Argument.SKILL: {"type": "string", "enum": names}}),
                describe_skill,
                Effect.READS,
                aliases=SKILL_ALIASES,
            ),
        )


def skills_of_turn(manager: SkillManager, session: SkillSession) -> list[SkillMetadata]:
    """Return the skills that matched or were named, now or earlier in the conversation.

    If there are none and the user names a tool that works on skills, return the offered skills.
    """
    found = [skill for skill in map(manager.find_skill, session.active_ids) if skill is not None]
    if not found and any(name in session.latest_request for name in ON_SKILLS):
        return manager.offered_skills()[:_MOST_NAMES]
    return found


def describe(skill: SkillMetadata, manager: SkillManager) -> dict[str, object]:
    """Return the metadata and files of a skill."""
    described: dict[str, object] = {
        "skill": skill.canonical_name,
        "description": skill.description,
        "scripts": ", ".join(script.name for script in find_scripts(skill)),
        "files": ", ".join(files_of(skill, manager)),
    }
    return {name: value for name, value in described.items() if value}


def passage(text: str, request: str) -> str:
    """Return the section of a text that shares the most terms with a request, truncated; short texts in
    full."""
    if len(text) <= MAX_PASSAGE:
        return text.strip()
    asked = set(terms(request))
    sections = [section for section in _HEADING.split(text) if section.strip()]
    best = max(sections, key=lambda section: len(asked & set(terms(section))), default="")
    return best.strip()[:MAX_PASSAGE]


def _choosing(tool: Tool, properties: Mapping[str, Any], named: Sequence[dict[str, list[str]]]) -> Tool:
    """Return the tool with its arguments restricted to these values: one alternative per skill."""

    def narrowed(choices: Mapping[str, Sequence[str]]) -> dict[str, object]:
        return {name: {**properties[name], "enum": list(choices[name])} for name in choices}

    joined = {name: list(dict.fromkeys(value for each in named for value in each[name])) for name in named[0]}
    kept = {name: schema for name, schema in properties.items() if name not in _LEFT_OUT}
    every = [{"properties": narrowed(choices)} for choices in named]
    parameters = {**tool.parameters, "properties": {**kept, **narrowed(joined)}, "anyOf": every}
    return replace(tool, parameters=parameters)
