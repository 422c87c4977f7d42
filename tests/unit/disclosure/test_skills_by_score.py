"""Skills that came in by their score alone do not pile up, and any skill can be dropped."""

import pytest

from skillkit.core.exceptions import SizeLimitExceededError
from skillkit.disclosure import SkillContextProvider, SkillSession
from skillkit.disclosure.skill_tools import UnloadSkill
from skillkit.disclosure.tools import Effect, Tool

GIT = "explain the git history, the branches and the merge conflicts of this repository"
PDF = "extract the text and tables from these scanned PDF files and forms"


@pytest.fixture
def by_score(write_skill):
    git = write_skill("git-history", "# Git\n", description="Explain git history, branches, merge conflicts.")
    write_skill(
        "pdf-extractor", "# PDF\n", description="Extract text and tables from scanned PDF files, forms."
    )
    write_skill("greeter", "# Greet\n", description="Greets people", triggers="[bonjour]")
    return git


class Runs:
    """A tool that works with a skill."""

    def tools(self, session):
        async def script_run(skill_name):
            return "ran"

        schema = {"type": "object", "properties": {"skill_name": {"type": "string"}}}
        return (Tool("script_run", "Run.", schema, script_run, Effect.RUNS_CODE),)


def turns(*requests):
    messages = []
    for request in requests:
        messages += [{"role": "user", "content": request}, {"role": "assistant", "content": "Done."}]
    return messages[:-1]


async def test_of_skills_by_score_the_newest_is_sent(by_score, provide):
    provider, session = provide(), SkillSession()
    first = await provider.before_request(turns(GIT), session)
    assert [(match.skill.name, match.certain) for match in first.matched] == [("git-history", False)]
    second = await provider.before_request(turns(GIT, PDF), session)
    assert second.active == ("pdf-extractor",)
    assert [insertion.place for insertion in second.insertions if insertion.kept] == [3]


@pytest.mark.parametrize("use", ["load", "read", "run", "order"])
async def test_a_skill_that_was_used_stays(by_score, provide, use):
    (by_score / "notes.md").write_text("Notes")
    provider, session = provide(tool_sources=[Runs()]), SkillSession()
    await provider.before_request(turns(GIT), session)
    said = [GIT]
    if use == "load":
        await provider.tool("load_skill", session).call({"skill_id": "git-history"})
    elif use == "read":
        await provider.tool("read_skill_resource", session).call(
            {"skill_id": "git-history", "path": "notes.md"}
        )
    elif use == "run":
        await provider.tool("script_run", session).call({"skill_name": "Git-History"})
    else:
        said.append("/git-history")
        await provider.before_request(turns(*said), session)
    last = await provider.before_request(turns(*said, PDF), session)
    assert set(last.active) == {"git-history", "pdf-extractor"}


async def test_a_turn_or_a_declared_trigger_takes_nothing_away(by_score, provide):
    provider, session = provide(), SkillSession()
    await provider.before_request(turns(GIT), session)
    thanks = await provider.before_request(turns(GIT, "thanks"), session)
    assert thanks.active == ("git-history",)
    declared = await provider.before_request(turns(GIT, "thanks", "bonjour"), session)
    assert set(declared.active) == {"git-history", "greeter"}


async def test_a_saved_conversation_knows_what_came_by_score_and_what_was_dropped(by_score, provide):
    provider, session = provide(), SkillSession()
    await provider.before_request(turns("bonjour", GIT), session)
    session.drop("greeter")
    restored = SkillSession.from_data(session.to_data())
    assert restored.only_by_score() == ("git-history",)
    assert restored.dropped == {"greeter"}


async def test_a_dropped_skill_comes_back_only_when_it_is_asked_for(by_score, provide):
    provider, session = provide(), SkillSession()
    await provider.before_request(turns("bonjour"), session)
    assert provider.drop("Greeter", session)
    assert not provider.drop("greeter", session)
    again = await provider.before_request(turns("bonjour", "bonjour again"), session)
    assert again.active == ()
    ordered = await provider.before_request(turns("bonjour", "bonjour again", "/greeter"), session)
    assert ordered.active == ("greeter",)


async def test_the_model_can_unload_a_skill(by_score, provide):
    provider, session = provide(tool_sources=[UnloadSkill()]), SkillSession()
    await provider.before_request(turns(GIT), session)
    await provider.tool("unload_skill", session).call({"skill_id": "git-history"})
    after = await provider.before_request(turns(GIT, f"{GIT} please"), session)
    assert after.active == ()


async def test_the_environment_sets_limit_fallback_and_size(by_score, manager, monkeypatch):
    monkeypatch.setenv("SKILL_MAX_PER_REQUEST", "1")
    monkeypatch.setenv("SKILL_FALLBACK_MODE", "show_all")
    monkeypatch.setenv("SKILL_MAX_INSTRUCTION_TOKENS", "3")
    provider = SkillContextProvider(manager)
    assert (provider.max_skills, provider.fallback.value) == (1, "show_all")
    assert SkillContextProvider(manager, 2, fallback="none").max_skills == 2
    with pytest.raises(SizeLimitExceededError, match="SKILL_MAX_INSTRUCTION_TOKENS"):
        await provider.tier2_context("greeter")
    loaded = await provider.tool("load_skill", SkillSession()).call({"skill_id": "greeter"})
    assert 'code="too_large"' in loaded.text
    matched = await provider.before_request("bonjour", SkillSession())
    assert "page by page" in matched.note


async def test_the_list_has_whole_descriptions_while_they_fit(write_skill, provide):
    text = "Rotates pages of scanned documents and crops them to the text. Use when a scan is upside down."
    write_skill("rotate", description=text)
    assert f"- rotate: {text}" in provide().catalogue()
    for number in range(8):
        write_skill(f"filler-{number}", description=f"{text} {text}")
    provider = provide()
    provider.manager.refresh()
    listed = provider.catalogue()
    assert "…" in listed
    assert listed.count("\n- ") == 9
