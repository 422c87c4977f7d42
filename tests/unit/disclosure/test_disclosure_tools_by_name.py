"""One tool by its name, texts that left the context, and what a provider writes down."""

from pathlib import Path

import pytest

from skillkit import SkillManager
from skillkit.core.events import Event, Kind
from skillkit.disclosure import SkillContextProvider, SkillSession
from skillkit.disclosure.tools import Tool
from skillkit.matching import SkillMatcher


class Events:
    """A journal in memory."""

    def __init__(self) -> None:
        self.recorded: list[Event] = []

    def record(self, event: Event) -> None:
        self.recorded.append(event)

    def close(self) -> None:
        return


class WithoutLookup:
    """A tool source that only has a list."""

    def tools(self, session: SkillSession) -> tuple[Tool, ...]:
        return ()


@pytest.fixture
def events() -> Events:
    return Events()


@pytest.fixture
def provider(skills_dir: Path, write_skill, events: Events) -> SkillContextProvider:
    write_skill("release-notes", "Be brief.", description="Write release notes of a version.")
    write_skill("csv-report", description="Reports about CSV files with totals of columns.")
    manager = SkillManager(project_skill_dir=skills_dir, anthropic_config_dir="", journal=events)
    return SkillContextProvider(manager, matcher=SkillMatcher(mode="lexical"))


def test_a_tool_is_found_by_name_before_anything_was_searched(provider: SkillContextProvider) -> None:
    assert not provider.finds_tools_at_once
    tool = provider.tool("load_skill")
    assert tool is not None
    assert tool.name == "load_skill"
    assert provider.tool("no_such_tool") is None
    assert provider.finds_tools_at_once
    slow = SkillContextProvider(provider.manager, tool_sources=[WithoutLookup()])
    assert not slow.finds_tools_at_once


async def test_a_loaded_text_that_left_the_context_is_given_again(provider: SkillContextProvider) -> None:
    session = SkillSession()
    tool = provider.tool("load_skill", session)
    assert tool is not None
    loaded = await tool.call({"skill_id": "release-notes"})
    asked = {"role": "user", "content": "Go on"}
    assert provider.insertions([asked, {"role": "tool", "content": loaded.text}], session) == ()
    [again] = provider.insertions([asked], session)
    assert (again.place, again.kept) == (1, True)
    assert "Be brief." in again.text


async def test_a_lost_text_that_may_no_longer_be_used_stays_away(
    provider: SkillContextProvider, skills_dir: Path
) -> None:
    session = SkillSession()
    tool = provider.tool("load_skill", session)
    assert tool is not None
    await tool.call({"skill_id": "release-notes"})
    (skills_dir / "release-notes" / "SKILL.md").unlink()
    [note] = provider.insertions([{"role": "user", "content": "Go on"}], session)
    assert not note.kept
    assert "is no longer available" in note.text


def test_the_nearest_skills_are_told_and_a_match_is_written_down(
    provider: SkillContextProvider, events: Events
) -> None:
    session = SkillSession()
    near = provider.near("notes about a version", session)
    assert [match.skill.name for match in near] == ["release-notes"]
    assert provider.near([], session) == ()
    provider.disclose("Write the release notes of this version", session)
    provider.disclose("Write the release notes of this version", session)
    kinds = [event.kind for event in events.recorded]
    assert kinds == [Kind.OFFERED, Kind.MATCHED, Kind.ACTIVATED, Kind.TOKENS, Kind.TOKENS]
    assert {(event.conversation, event.turn) for event in events.recorded} == {(session.id, 1)}
