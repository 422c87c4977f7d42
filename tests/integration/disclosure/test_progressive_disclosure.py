"""The acceptance lists of progressive discovery, the three tiers, and progressive loading, one by one."""

import asyncio
import json
import os

import pytest

from skillkit import SkillManager
from skillkit.disclosure import SkillContextProvider, SkillSession, plan_compaction
from skillkit.matching import SkillMatcher

HELLO = "# hello-extended\n\nGreet in the language of the country.\n" + "- bonjour: French\n" * 50


@pytest.fixture
def provider(write_skill, skills_dir) -> SkillContextProvider:
    folder = write_skill(
        "hello-extended",
        HELLO,
        description="Greets people in many languages",
        triggers="[bonjour, greet, say hello]",
    )
    (folder / "references").mkdir()
    (folder / "references" / "languages.md").write_text("French, German")
    (folder / "scripts").mkdir()
    (folder / "scripts" / "greet.py").write_text("print('Bonjour')")
    write_skill(
        "kalshi-markets", "# kalshi-markets\n", description="Reads prediction markets", triggers="[kalshi]"
    )
    manager = SkillManager(project_skill_dir=skills_dir)
    return SkillContextProvider(manager, matcher=SkillMatcher(mode="lexical"))


# Progressive discovery


async def test_skill_instructions_not_present_for_irrelevant_request(provider):
    disclosed = await provider.before_request("What is 2+2?")
    assert "Greet in the language" not in disclosed.everything


async def test_skill_instructions_present_for_relevant_request(provider):
    disclosed = await provider.before_request("Say bonjour to Alice")
    assert "Greet in the language" in disclosed.everything
    assert "# kalshi-markets" not in disclosed.everything


async def test_token_usage_lower_without_skills(provider):
    without = await provider.before_request("What is 2+2?", SkillSession())
    with_skill = await provider.before_request("Say bonjour to Alice", SkillSession())
    assert without.tokens.total < 0.4 * with_skill.tokens.total
    assert without.tokens.skills == 0


async def test_calculating_pi_works_without_skill_instructions(provider):
    assert (await provider.before_request("Calculate pi to 10 digits")).matched == ()


async def test_the_matcher_that_is_installed_decides_when_none_is_given(provider):
    default = SkillContextProvider(provider.manager)
    assert (await default.before_request("Calculate pi to 10 digits")).matched == ()
    disclosed = await default.before_request("Say bonjour to Alice")
    assert [match.skill.name for match in disclosed.matched] == ["hello-extended"]


@pytest.mark.parametrize(
    "request_text", ["BONJOUR!", "Bonjour, Alice", "say «bonjour».", "please Say Hello to Bob"]
)
async def test_keyword_matching_ignores_case_and_punctuation(provider, request_text):
    disclosed = await provider.before_request(request_text, SkillSession())
    assert [match.skill.name for match in disclosed.matched] == ["hello-extended"]


@pytest.mark.parametrize("triggers", [{}, {"triggers": "[]"}])
async def test_without_triggers_nothing_matches_in_keyword_mode(write_skill, skills_dir, triggers):
    write_skill("quiet", **triggers)
    manager = SkillManager(project_skill_dir=skills_dir)
    provider = SkillContextProvider(manager, matcher=SkillMatcher(mode="keyword"))
    assert (await provider.before_request("What quiet does")).matched == ()


@pytest.mark.parametrize(("options", "limit"), [({}, 3), ({"max_skills": 2}, 2)])
async def test_multiple_skills_matched_respects_max_limit(write_skill, skills_dir, options, limit):
    for number in range(5):
        write_skill(f"zoo-{number}", "Feed it.\n" * 500, triggers="[zebra]")
    manager = SkillManager(project_skill_dir=skills_dir)
    provider = SkillContextProvider(manager, matcher=SkillMatcher(mode="lexical"), **options)
    disclosed = await provider.before_request("zebra")
    assert len(disclosed.matched) == limit
    assert disclosed.everything.count("<skill_context ") == limit


async def test_allowed_tools_neither_takes_nor_gives_a_tool(write_skill, skills_dir):
    write_skill("free", "Do.", triggers="[zebra]")
    write_skill("bound", "Do.", triggers="[lion]", allowed_tools="Read")
    write_skill("denied", "Do.", triggers="[tiger]", allowed_tools="[]")
    provider = SkillContextProvider(
        SkillManager(project_skill_dir=skills_dir), matcher=SkillMatcher(mode="lexical")
    )
    offered = {}
    for request in ("zebra", "lion", "tiger"):
        disclosed = await provider.before_request(request, SkillSession())
        assert len(disclosed.active) == 1
        offered[request] = [tool.name for tool in disclosed.tools]
    assert offered["zebra"] == offered["lion"] == offered["tiger"]


async def test_scripts_stay_discoverable(provider):
    assert await provider.tier3_resource_list("hello-extended", "scripts") == ["scripts/greet.py"]


async def test_the_session_can_be_saved_and_continued(provider):
    session = SkillSession()
    await provider.before_request("Say bonjour to Alice", session)
    restored = SkillSession.from_data(json.loads(json.dumps(session.to_data())))
    disclosed = await provider.before_request("And to Bob", restored)
    assert "Greet in the language" in disclosed.everything


# The three tiers


async def test_tier_1_has_names_descriptions_and_locations(skills_dir, provider):
    located = SkillContextProvider(provider.manager, style="location")
    text = located.tier1_context()
    for name in ("hello-extended", "kalshi-markets"):
        assert f"<name>{name}</name>" in text
        assert f"<location>{skills_dir / name / 'SKILL.md'}</location>" in text


async def test_tier_2_is_the_whole_text(provider):
    assert HELLO in await provider.tier2_context("hello-extended")
    assert await provider.tier2_context("nothing") is None


async def test_tier_3_is_read_when_asked_for(provider):
    assert await provider.tier3_resource_list("hello-extended", "references") == ["references/languages.md"]
    assert await provider.tier3_resource("hello-extended", "references/languages.md") == "French, German"
    assert await provider.tier3_resource_list("hello-extended", "assets") == []


@pytest.mark.parametrize("path", ["../../../etc/passwd", "/etc/passwd", "references/../../x", "outside"])
async def test_tier_3_never_leaves_the_skill(provider, skills_dir, path):
    (skills_dir / "hello-extended" / "outside").symlink_to("/etc/passwd")
    assert await provider.tier3_resource("hello-extended", path) is None


def test_skills_by_name(provider):
    assert provider.get_skill_names() == ["hello-extended", "kalshi-markets"]
    assert provider.get_skill("hello-extended").description == "Greets people in many languages"
    assert provider.get_skill("nothing") is None


# Progressive loading


def test_the_prompt_has_the_agent_skills_section_and_no_markdown_of_skills(provider):
    text = provider.tier1_context()
    assert text.startswith("## Agent Skills\n")
    assert text.index("<id>hello-extended</id>") < text.index("<id>kalshi-markets</id>")
    assert "Greet in the language" not in text


async def test_load_skill_is_visible_and_executable_by_id(provider):
    (load,) = [tool for tool in provider.tools() if tool.name == "load_skill"]
    assert load.parameters["required"] == ["skill_id"]
    answer = (await load.call({"skill_id": "hello-extended"})).text
    assert HELLO in answer
    assert "<execution_directive>" in answer


async def test_a_loaded_skill_is_still_active_after_the_session_was_saved(provider):
    session = SkillSession()
    answer = (await provider.tools(session)[0].call({"skill_id": "hello-extended"})).text
    restored = SkillSession.from_data(json.loads(json.dumps(session.to_data())))
    assert "already_active" in (await provider.tools(restored)[0].call({"skill_id": "hello-extended"})).text
    assert plan_compaction([answer, "Go on"], restored).keep == (0,)


async def test_unknown_and_unreadable_skills_are_structured_answers(provider, skills_dir):
    (load, *_) = provider.tools()
    assert '<error code="not_found">' in (await load.call({"skill_id": "unknown"})).text
    os.remove(skills_dir / "kalshi-markets" / "SKILL.md")
    assert '<error code="read_error">' in (await load.call({"skill_id": "kalshi-markets"})).text


async def test_special_characters_and_lines_survive_serialisation(write_skill, provider):
    markdown = (
        "# Été\n\n```html\n<p class=\"x\">&amp; 'quoted' ]]> </p>\n```\n\n| a | b |\n|---|---|\n\\n 漢字 🚀\n"
    )
    write_skill("special", markdown)
    provider.manager.refresh()
    answer = (await provider.tools()[0].call({"skill_id": "special"})).text
    assert markdown in json.loads(json.dumps(answer))


async def test_a_model_that_calls_the_tools_gets_through_all_tiers(provider):
    """The loop of an agent with a scripted model: catalogue, load_skill, read_skill_resource, answer."""
    session, messages = SkillSession(), [{"role": "user", "content": "How do I welcome a guest from Lyon?"}]
    script = [
        ("load_skill", {"skill_id": "hello-extended"}),
        ("read_skill_resource", {"skill_id": "hello-extended", "path": "references/languages.md"}),
    ]
    for name, arguments in script:
        disclosed = await provider.before_request(messages, session, whole_history=True)
        tools = {tool.name: tool for tool in disclosed.tools}
        messages.append({"role": "assistant", "content": "", "tool_calls": [name]})
        messages.append({"role": "tool", "content": (await tools[name].call(arguments)).text})
    final = await provider.before_request(messages, session, whole_history=True)
    said = final.everything + "".join(message["content"] for message in messages)
    assert said.count("Greet in the language") == 1
    assert "French, German" in said
    assert final.active == ("hello-extended",)


async def test_concurrent_conversations_do_not_mix(provider):
    requests = ["Say bonjour to Alice", "What does kalshi say?", "What is 2+2?"] * 10
    sessions = [SkillSession() for _ in requests]
    disclosed = await asyncio.gather(
        *(
            provider.before_request(request, session)
            for request, session in zip(requests, sessions, strict=True)
        )
    )
    expected = [("hello-extended",), ("kalshi-markets",), ()] * 10
    assert [one.active for one in disclosed] == expected
    assert [session.active_ids for session in sessions] == expected
    nonces = [active.nonce for session in sessions for active in session.active]
    assert len(set(nonces)) == len(nonces) == 20
    assert len({one.instructions for one in disclosed}) == 1


async def test_two_managers_in_one_process_never_see_each_other(provider, tmp_path, write_skill):
    write_skill("other", into=tmp_path / "elsewhere")
    manager = SkillManager(project_skill_dir=tmp_path / "elsewhere")
    stranger = SkillContextProvider(manager, matcher=SkillMatcher(mode="lexical"))
    assert stranger.get_skill_names() == ["other"]
    assert "other" not in provider.get_skill_names()
    assert (await stranger.before_request("Say bonjour to Alice")).matched == ()
